"""Checks that the family table, Plugins/ and Manifests/ agree, and that each built plugin links what it declares.

    lint-plugins.py table | plugins BUILD_FOLDER
"""
import glob, json, os, re, subprocess, sys

problems = []


def problem(text):
    problems.append(text)


def table():
    """Folder -> names of the libraries that the family declares, and its Kit libraries, from Package.swift."""
    text = open("Package.swift").read()
    families = {}
    for folder, rest in re.findall(r'^    Family\("(\w+)"(.*)\),$', text, re.M):
        needs = re.search(r"needs: ((?:\.\w+(?:, )?)+)", rest)
        kit = re.search(r"kit: (.*)$", rest)
        families[folder] = (re.findall(r"\.(\w+)", needs[1]) if needs else [],
                            re.findall(r"\w+", kit[1]) if kit else [])
    libraries = dict(re.findall(r'static let (\w+) = Library\(\s*"\w+", pkgConfig: "([^"]+)"', text))
    products = dict(re.findall(r'^let (\w+) = Target.Dependency.product\(name: "(\w+)"', text, re.M))
    return families, libraries, products


def family(folder):
    return folder[0].lower() + folder[1:]


def check_table():
    families, libraries, _ = table()
    if not families:
        problem("Package.swift: no family found in the table")
    if list(families) != sorted(families):
        problem("Package.swift: the table is not in alphabetical order")
    folders = {d for d in os.listdir("Plugins") if os.path.isdir(f"Plugins/{d}") and os.listdir(f"Plugins/{d}")}
    for folder in sorted(folders - set(families)):
        problem(f"Plugins/{folder} has no line in Package.swift's table")
    for folder in sorted(set(families) - folders):
        problem(f"Package.swift: {folder} has no folder in Plugins/")
    by_name = {family(f): f for f in families}
    for path in sorted(glob.glob("Manifests/*.json")):
        name = os.path.basename(path)[:-5]
        manifest = json.load(open(path))
        if manifest.get("family") != name:
            problem(f"{path}: its family is {manifest.get('family')}")
        if name not in by_name and manifest.get("x-provider") != "host":
            problem(f"{path}: neither in Package.swift's table nor \"x-provider\": \"host\"")
    for name, folder in by_name.items():
        if not os.path.exists(f"Manifests/{name}.json"):
            problem(f"Plugins/{folder}: Manifests/{name}.json is missing")
        for need in families[folder][0]:
            if need not in libraries:
                problem(f"Package.swift: {folder} needs .{need}, which is no Library")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def defined(path):
    """The dynamic symbols that a library defines for good; weak ones are meant to be shared."""
    lines = (line.split() for line in output("nm", "-D", "--defined-only", path).splitlines())
    return {w[2] for w in lines if len(w) == 3 and w[1] not in "VWvwu" and w[2] not in ("__bss_start", "_edata", "_end")}


def dynamic(path, tag):
    return re.findall(rf"\({tag}\).*\[(.*)\]", output("readelf", "-dW", path))


SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux-.*)\.so|lib(swift\w*|BlocksRuntime|dispatch)\.so$")


def check_library(path, allowed, kit):
    for symbol in sorted(defined(path) & kit)[:5]:
        problem(f"{path}: defines {symbol}, as libApsuleKit.so does: it carries a copy of the Kit")
    for tag in ("RPATH", "RUNPATH"):
        for entry in ":".join(dynamic(path, tag)).split(":"):
            if entry not in ("", "$ORIGIN") and not entry.endswith("/lib/swift/linux"):
                problem(f"{path}: {tag} names {entry}")
    for needed in dynamic(path, "NEEDED"):
        if not SYSTEM.match(needed) and needed.split(".so")[0] not in allowed:
            problem(f"{path}: needs {needed}, which its line of the table does not declare")


def linked(package):
    """lib names of what pkg-config links for a package."""
    return {"lib" + l for l in re.findall(r"-l(\S+)", output("pkg-config", "--libs", package))}


def check_plugins(build):
    families, libraries, products = table()
    kit = {s for s in defined(f"{build}/libApsuleKit.so")}
    shared = sorted(set(glob.glob(f"{build}/libApsule*.so")) - {f"{build}/libApsuleKit.so"})
    for path in shared:
        name = os.path.basename(path)[len("libApsule"):-3]
        manifest = open(f"Sources/Kit/{name}/Package.swift").read()
        allowed = {"libApsuleKit"}.union(*map(linked, re.findall(r'pkgConfig: "([^"]+)"', manifest)))
        check_library(path, allowed, kit)
    for folder, (needs, kits) in families.items():
        path = f"{build}/libapsule-{family(folder)}.so"
        if not os.path.exists(path):
            if all(subprocess.run(["pkg-config", "--exists", libraries[n]]).returncode == 0 for n in needs):
                problem(f"{path} was not built")
            continue
        allowed = {"libApsuleKit", *("lib" + products[k] for k in kits)}.union(*(linked(libraries[n]) for n in needs))
        check_library(path, allowed, kit)


if sys.argv[1] == "table":
    check_table()
else:
    check_plugins(sys.argv[2])
print("\n".join(problems))
sys.exit(bool(problems))

"""Closed and full outputs, missing homes, too much of everything, plugins that come and go; see edges.sh."""
import json, os, shutil, signal, subprocess, time

from harness import APSULE, apsule, check, environment, finish, home, project, test, workers

BUILD = os.path.dirname(APSULE)


def script(name, text):
    path = os.path.join(home, name + ".js")
    with open(path, "w") as f:
        f.write(text)
    return path


def shell(command, timeout=60, **env):
    """Runs a line of bash in which $APSULE is the executable."""
    return subprocess.run(["bash", "-c", command], env=environment(APSULE=APSULE, **env), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout, start_new_session=True)


def start(*arguments, **options):
    return subprocess.Popen([APSULE, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=environment(), start_new_session=True, **options)


def lines_until(process, count, seconds=20):
    """The first lines that a process prints."""
    got, end = [], time.monotonic() + seconds
    os.set_blocking(process.stdout.fileno(), False)
    while len(got) < count and time.monotonic() < end:
        line = process.stdout.readline()
        got.append(line.strip()) if line else time.sleep(0.02)
    return got


@test
def a_reader_that_has_seen_enough_ends_what_prints_for_ever():
    endless = script("endless", 'for (let i = 0; ; i++) { console.log("line", i); await host.timer.sleep(1); }')
    begin = time.monotonic()
    r = shell(f'"$APSULE" run {endless} | head -n 1; echo "${{PIPESTATUS[0]}}"')
    check(r.stdout == "line 0\n141\n" and not r.stderr.replace("apsule runs as root", "").count("error"), r)
    r = shell('"$APSULE" call runtime.watch --for 1s | true; echo "${PIPESTATUS[0]}"')
    check(r.stdout == "141\n" and time.monotonic() - begin < 20, r)
    r = shell('"$APSULE" discover | head -n 1 | wc -l; echo "${PIPESTATUS[0]}"')
    check(r.stdout == "1\n0\n" and not r.stderr, r)
    check(not workers())


@test
def a_reader_that_takes_its_time_loses_nothing():
    # More than pipes and queues hold, read only after the limits that a script has.
    text = script("pager", 'for (let i = 0; i < 60000; i++) console.log(i, "x".repeat(200)); await host.timer.sleep(1); console.log("end");')
    r = shell(f'"$APSULE" run {text} | (sleep 7; wc -l); echo "${{PIPESTATUS[0]}}"')
    check(r.stdout == "60001\n0\n", r)


@test
def output_that_cannot_be_written_is_an_error():
    hello = script("hello", 'console.log("hello");')
    for command in (f"run {hello}", "discover", "call device.info", "docs"):
        r = shell(f'"$APSULE" {command} > /dev/full')
        check(r.returncode == 1 and "output.failed" in r.stderr and "No space left" in r.stderr, (command, r))


@test
def missing_standard_files_are_no_place_for_others():
    hello = script("closed", 'console.log("hello"); await host.storage.set("k", 1); console.log(await host.storage.get("k"));')
    for closed in ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
        r = shell(f'"$APSULE" run {hello} --allow storage {closed}')
        check(r.returncode == 0 and r.stdout == ("" if ">&-" in closed.replace("2>&-", "") else "hello\n1\n"), (closed, r))
        r = shell(f'"$APSULE" permissions revoke nobody {closed}')
        check(r.returncode == 0, (closed, r))
    r = apsule("permissions", "list", "--json")
    check(r.code == 0 and isinstance(json.loads(r.out), list), r)


@test
def whatever_a_script_prints_or_throws_arrives():
    cases = {
        'console.log("\\0".repeat(400000).length, "\\0".repeat(400000)); console.log("after");': (0, "after", ""),
        'console.log("a" + "\\u0301".repeat(600000)); console.log("after");': (0, "after", ""),
        'console.log(JSON.stringify(Array(300000).fill(12345)).length); console.log(JSON.stringify(Array(300000).fill(12345)) + "<");':
            (0, "12345]<", ""),
        'console.log("x".repeat(5e6)); console.log("after");': (0, "after", ""),
        'throw new Error("x".repeat(5e7))': (1, "", "more bytes"),
        'throw new HostError("my.code", "long", { text: "y".repeat(3e6) })': (1, "", "my.code: long"),
        'const e = new Error("m"); e.code = "y".repeat(3e6); throw e;': (1, "", "more bytes"),
        'throw new Error("half \\ud800 of a pair")': (1, "", "half \ufffd of a pair"),
        'const e = new Error("kept"); Object.defineProperty(e, "stack", { get() { throw 1; } }); throw e;': (1, "", "kept"),
        'const e = new Error("x"); Object.defineProperty(e, "message", { get() { throw 1; } }); throw e;': (1, "", "without a message"),
        'Object.prototype.toJSON = () => 5; throw new TypeError("said all the same");': (1, "", "said all the same"),
    }
    for text, (code, out, err) in cases.items():
        r = apsule("run", script("said", text))
        check(r.code == code and out in r.out and err in r.err, (text, r))
    r = apsule("run", script("cut", 'console.log("x".repeat(5e6));'))
    check(len(r.out) > 4 << 20 and "805696 more bytes" in r.out[-60:], r.out[-60:])
    r = apsule("run", script("stalled", "await new Promise(() => {});"))
    check(r.code == 1 and "at stalled.js\n" in r.err, r)


@test
def ten_thousand_calls_at_once_are_answered_each():
    r = apsule("run", script("crowd", """
        const counts = {};
        for (const call of [(i) => host.storage.set("k" + i % 100, i), (i) => host.crypto.sha256({ text: String(i) }),
                            () => host.timer.sleep(1), () => host.runtime.watch(() => {})]) {
          const all = await Promise.allSettled(Array.from({ length: 10000 }, (_, i) => call(i)));
          for (const { reason, value } of all) { counts[reason?.code ?? "ok"] = (counts[reason?.code ?? "ok"] ?? 0) + 1; value?.cancel?.(); }
        }
        console.log(JSON.stringify(counts), await host.storage.get("k1") !== null);
        """), "--allow", "storage")
    counts = json.loads(r.out.split(" ")[0]) if r.code == 0 else {}
    check(r.code == 0 and set(counts) == {"ok", "host.busy"} and sum(counts.values()) == 40000 and counts["ok"] > 12000, r)


@test
def without_a_home_what_needs_none_works():
    none = {"HOME": ""}
    for words in (("discover",), ("docs", "timer"), ("help", "timer.sleep"), ("types", home), ("doctor", "timer")):
        r = apsule(*words, **none)
        check(r.code == 0 and r.out, (words, r))
    r = apsule("doctor", **none)
    check(r.code == 0 and "no home folder" in r.out, r)
    r = apsule("call", "device.info", **none)
    check(r.code == 4 and "host.state_unusable" in r.err and "--state" in r.err, r)
    check(apsule("call", "device.info", "--state", os.path.join(home, "state"), **none).code == 0)


@test
def paths_that_are_no_text_are_refused_and_not_changed():
    odd = os.path.join(home.encode(), b"h\xff")
    os.makedirs(odd)
    env = {k.encode(): v.encode() for k, v in environment().items()}
    run = lambda words, cwd=None, **more: subprocess.run(
        [APSULE, *words], env={**env, **{k.encode(): v for k, v in more.items()}}, cwd=cwd, capture_output=True, text=True)
    r = run(["call", "storage.set", "key=a", "value=b", "--allow", "storage"], HOME=odd)
    check(r.returncode == 4 and "host.state_unusable" in r.stderr and "UTF-8" in r.stderr, r)
    with open(odd + b"/app.json", "w") as f:
        json.dump({"apsule": 1, "id": "test.odd", "name": "n", "version": "1.0.0"}, f)
    with open(odd + b"/main.js", "w") as f:
        f.write("console.log(1)")
    for words in (["run"], ["run", "main.js"], ["init", "new"], ["call", "device.info", "--state", "s"],
                  ["discover", "--plugins", "p"]):
        r = run(words, cwd=odd)
        check(r.returncode == 4 and "not UTF-8" in r.stderr, (words, r))
    check(sorted(os.listdir(odd)) == [b"app.json", b"main.js"])
    check(not [n for n in os.listdir(home) if "\ufffd" in n], os.listdir(home))


@test
def a_current_folder_that_is_gone_is_an_error():
    for command in ("init new", "call device.info --state here", "discover --plugins here"):
        gone = os.path.join(home, "gone")
        os.mkdir(gone)
        r = shell(f'cd {gone} && rmdir {gone} && "$APSULE" {command}')
        check(r.returncode == 4 and "current folder" in r.stderr, (command, r))
    check(not os.path.exists("/here") and not os.path.exists("/new"))


@test
def words_of_the_command_line_have_their_limits():
    r = apsule("call", "storage.set", "key=k", "value" + ".a" * 50000 + "=1", "--allow", "storage")
    check(r.code == 2 and "deeper" in r.err, r)
    for twice in (("text=a", "text=b"), ("text=a", "text.b=c"), ("text.b=c", "text=a")):
        r = apsule("call", "crypto.sha256", *twice)
        check(r.code == 2 and "given twice" in r.err, (twice, r))
    # Nothing is called before all is understood.
    r = apsule("call", "storage.set", "key=never", "value=1", "--for", "soon", "--allow", "storage")
    check(r.code == 2 and apsule("call", "storage.get", "key=never", "--allow", "storage").out == "null\n", r)
    r = apsule("call", "runtime.watch", "--for", "0s")
    check(r.code == 0 and json.loads(r.out) == {"type": "end", "reason": "cancelled"}, r)


@test
def manifests_cannot_pass_for_the_host_or_run_nothing():
    for id in ("apsule.cli", "apsule.file"):
        r = apsule("run", project("posing", "console.log(1)", id=id))
        check(r.code == 6 and "manifest.invalid" in r.err and "must not begin" in r.err, r)
    r = apsule("run", project("nothing", "", entry="missing.js"))
    check(r.code == 6 and "manifest.entry_missing" in r.err and "missing.js" in r.err, r)
    for entry in (".", "lib/", "lib/."):
        r = apsule("run", project("folder", "", entry=entry))
        check(r.code == 6 and "manifest.invalid" in r.err, (entry, r))
    r = apsule("run", project("settings", "console.log(1)", settings={"bluetooth": {"adapter": "hci1"}}))
    check(r.code == 0 and "policy.json" in r.err and r.out == "1\n", r)


@test
def plugins_that_come_and_go_are_told_to_the_running_script():
    plugins = os.path.join(home, "coming")
    watch = project("watch", """
        const watch = await host.runtime.watch((event) => {
          console.log(event.type, event.family, event.status);
          if (event.family === "last") watch.cancel();
        });
        console.log("watching");
        """)
    p = start("run", watch, "--plugins", plugins)
    try:
        check(lines_until(p, 1) == ["watching"], p.args)
        os.mkdir(plugins)  # The folder itself appears later than the project.
        shutil.copy(os.path.join(BUILD, "libapsule-timer.so"), f"{plugins}/one.so")
        check(lines_until(p, 1) == ["added one invalid"])
        with open(f"{plugins}/one.so", "r+b") as f:
            f.truncate(5000)
        check(lines_until(p, 1) == ["changed one invalid"])
        os.remove(f"{plugins}/one.so")
        check(lines_until(p, 1) == ["removed one invalid"])
        with open(f"{plugins}/last.so", "w") as f:
            f.write("no library")
        check(lines_until(p, 1) == ["added last invalid"])
        check(p.wait(timeout=15) == 0, p.stderr.read())
    finally:
        p.kill()


@test
def a_projects_types_follow_the_plugins_while_it_runs():
    # An installation of its own, whose crypto arrives and leaves again.
    place = os.path.join(home, "installation")
    os.makedirs(f"{place}/Manifests")
    for name in os.listdir(BUILD):
        if name.startswith(("apsule", "libApsule")) and "." not in name.removesuffix(".so") or name == "libapsule-timer.so":
            if os.path.isfile(f"{BUILD}/{name}"):
                shutil.copy(f"{BUILD}/{name}", place)
    for family in ("runtime", "permissions", "timer"):
        shutil.copy(f"{BUILD}/Manifests/{family}.json", f"{place}/Manifests")
    folder = project("typed-later", "const w = await host.runtime.watch((e) => console.log(e.type, e.family)); setTimeout(() => w.cancel(), 20000);")
    tool = f"{place}/apsule"
    check(subprocess.run([tool, "types", folder], env=environment(), capture_output=True).returncode == 0)
    types = lambda: open(f"{folder}/host.d.ts").read()
    check("sha256" not in types() and "timer" in types())
    p = subprocess.Popen([tool, "run", folder], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        time.sleep(1)
        shutil.copy(f"{BUILD}/libapsule-crypto.so", place)
        check(lines_until(p, 1) == ["added crypto"])
        end = time.monotonic() + 5
        while "sha256" not in types() and time.monotonic() < end:
            time.sleep(0.05)
        check("sha256" in types())
        os.remove(f"{place}/libapsule-crypto.so")
        check(lines_until(p, 1) == ["removed crypto"])
        while "sha256" in types() and time.monotonic() < end + 5:
            time.sleep(0.05)
        check("sha256" not in types())
        p.send_signal(signal.SIGINT)
        check(p.wait(timeout=15) == 130 and "host.d.ts" in p.stderr.read())
    finally:
        p.kill()


finish()

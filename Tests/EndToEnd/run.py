"""Projects run from the outside; see run.sh."""
import json, os, shutil, signal, stat, subprocess, time

from harness import APSULE, apsule, at_terminal, check, environment, finish, home, project, test, wait_for_worker, workers

SAVE = 'await host.storage.set("k", 1); console.log("saved", await host.storage.get("k"));'
QUESTION = "Allow [o]nce, for this [r]un, [a]lways, or [n]ever?"


@test
def a_project_runs_and_ends():
    r = apsule("run", project("hello", 'console.log((await host.device.info()).architecture)'))
    check(r.code == 0 and r.out.strip() == os.uname().machine, r)


@test
def a_single_script_runs_without_a_manifest():
    path = os.path.join(home, "one.js")
    with open(path, "w") as f:
        f.write(SAVE)
    r = apsule("run", path, "--allow", "storage")
    check(r.code == 0 and "saved 1" in r.out, r)
    r = apsule("run", path)
    check(r.code == 1 and "permission.denied" in r.err, r)


@test
def errors_name_file_line_and_code():
    r = apsule("run", project("typo", "const x = 1;\nawait host.timer.slep(5);\n"))
    check(r.code == 1 and 'Did you mean "timer.sleep"' in r.err and "main.js:2" in r.err and "> 2 |" in r.err, r)
    r = apsule("run", project("syntax", "let a = 1;\nlet x = ;\n"))
    check(r.code == 1 and "main.js:2" in r.err, r)
    r = apsule("run", project("reject", 'Promise.reject(new Error("nobody"));'))
    check(r.code == 1 and "nobody" in r.err and "main.js:1" in r.err, r)


@test
def a_person_says_always_and_is_not_asked_again():
    folder = project("always", SAVE, {"storage": {"reason": "to keep your list"}})
    r = at_terminal("run", folder, answers=[(QUESTION, "a\n")])
    check(r.code == 0 and "saved 1" in r.out and "to keep your list" in r.out and "test.always" in r.out, r)
    r = apsule("run", folder)
    check(r.code == 0 and "saved 1" in r.out, r)
    r = apsule("permissions", "list", "--json")
    check([g["permission"] for g in json.loads(r.out) if g["project"] == "test.always"] == ["storage"], r)
    r = apsule("permissions", "revoke", "test.always", "storage")
    check(r.code == 0, r)
    r = apsule("run", folder)
    check(r.code == 1 and "permission.denied" in r.err and "no terminal" in r.err, r)


@test
def a_person_says_never():
    folder = project("never", SAVE, {"storage": True})
    r = at_terminal("run", folder, answers=[(QUESTION, "n\n")])
    check(r.code == 1 and "permission.denied" in r.out, r)
    r = at_terminal("run", folder)
    check(r.code == 1 and QUESTION not in r.out, r)


@test
def once_and_run_do_not_last():
    folder = project("once", SAVE, {"storage": True})
    r = at_terminal("run", folder, answers=[(QUESTION, "o\n"), (QUESTION, "o\n")])
    check(r.code == 0 and r.out.count(QUESTION) == 2, r)
    r = at_terminal("run", folder, answers=[(QUESTION, "r\n")])
    check(r.code == 0 and r.out.count(QUESTION) == 1, r)
    check(apsule("run", folder).code == 1)


@test
def what_was_typed_before_the_question_is_no_answer():
    folder = project("ahead", SAVE, {"storage": True})
    r = at_terminal("run", folder, ahead="a\na\na\n", answers=[(QUESTION, "n\n")])
    check(r.code == 1 and "saved 1" not in r.out, r)


@test
def a_name_with_control_characters_is_shown_escaped():
    folder = project("evil", SAVE, {"storage": {"reason": "\u202egnp.exe \u001b[2J"}}, **{"name": "Nice\u001b[1A\u001b[2KApp\u0007"})
    r = at_terminal("run", folder, answers=[(QUESTION, "n\n")])
    check("\u001b[2J" not in r.out and "\u202e" not in r.out and "\\u{1b}[2J" in r.out and "Nice\\u{1b}" in r.out, r)


@test
def the_same_id_from_another_folder_is_another_project():
    folder = project("twin", SAVE, {"storage": True})
    check(at_terminal("run", folder, answers=[(QUESTION, "a\n")]).code == 0)
    other = os.path.join(home, "projects", "other-twin")
    shutil.copytree(folder, other)
    with open(f"{other}/main.js", "w") as f:
        f.write('console.log(await host.storage.get("k"));')
    check(apsule("run", other).code == 1)
    r = at_terminal("run", other, answers=[(QUESTION, "r\n")])
    check(r.code == 0 and "\nnull" in r.out, r)


@test
def a_policy_file_decides_where_nobody_can_be_asked():
    folder = project("policy", SAVE, {"storage": True})
    config = os.path.join(home, ".config", "apsule")
    os.makedirs(config, exist_ok=True)
    path = os.path.join(config, "policy.json")
    with open(path, "w") as f:
        json.dump({"apsule": 1, "projects": {"test.policy": {"allow": ["storage"]}}}, f)
    os.chmod(path, 0o600)
    try:
        check(apsule("run", folder).code == 0)
        # What somebody else could have written may have lost a denial: nothing runs until the owner has looked.
        os.chmod(path, 0o666)
        r = apsule("run", folder)
        check(r.code == 4 and "policy.not_owner_only" in r.err, r)
    finally:
        os.remove(path)


@test
def scripts_that_do_not_give_the_turn_back_are_ended():
    for name, script in (("loop", "while (true) {}"), ("microtasks", "(async () => { for (;;) await null; })()"),
                         ("regex", '/^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(5000)); while (true) {}')):
        r = apsule("run", project(name, script, limits={"turnMs": 1000}))
        check(r.code == 1 and "script.unresponsive" in r.err and r.seconds < 4.5, (name, r))


@test
def scripts_that_hog_memory_are_ended():
    for name, script in (("hog", "const a = []; for (;;) a.push(new Array(1000).fill({}));"),
                         ("huge", "new Uint8Array(3e9).fill(1); console.log('still here');")):
        r = apsule("run", project(name, script, limits={"memoryMB": 200}))
        check(r.code == 1 and "script.out_of_memory" in r.err and r.seconds < 6, (name, r))


@test
def odd_arguments_have_their_defined_answer():
    script = """
    const code = async (f) => { try { return await f(); } catch (e) { return e.code + " " + (e.details?.path ?? ""); } };
    const keep = (v) => code(async () => { await host.storage.set("v", v); return host.storage.get("v"); });
    let deep = 1; for (let i = 0; i < 10000; i++) deep = [deep];
    console.log("NaN", await keep({ a: [NaN] }));
    console.log("surrogate", await keep("\\ud800"));
    console.log("deep", await keep(deep));
    console.log("large", await keep("x".repeat(100e6)));
    const big = await keep(9223372036854775807n); console.log("max", typeof big, big);
    console.log("min", await keep(-9223372036854775808n));
    console.log("over", await keep(9223372036854775808n));
    const proto = await keep(JSON.parse('{"__proto__": {"x": 1}}'));
    console.log("proto", Object.keys(proto).join(), ({}).x);
    console.log("blob", JSON.stringify(await keep({ $blob: 0 })));
    console.log("function", await keep(() => 1));
    const loop = {}; loop.self = loop; console.log("cycle", await keep(loop));
    """
    r = apsule("run", project("odd", script, {"storage": True}), "--allow", "storage", timeout=120)
    lines = dict(line.split(" ", 1) for line in r.out.strip().split("\n"))
    check(r.code == 0, r)
    for name in ("NaN", "surrogate", "function", "cycle", "over"):
        check(lines[name].startswith("host.invalid_argument"), (name, r))
    check(lines["deep"].startswith("host.payload_too_deep"), r)
    check(lines["large"].startswith("host.payload_too_large"), r)
    check(lines["max"].startswith("bigint 9223372036854775807"), r)
    check(lines["min"].startswith("-9223372036854775808"), r)
    check(lines["proto"] == "__proto__ undefined", r)
    check(lines["blob"] == '{"$blob":0}', r)


@test
def a_worker_has_no_powers_and_a_clean_environment():
    folder = project("confined", "await host.timer.sleep(20000)")
    p = subprocess.Popen([APSULE, "run", folder], stdin=subprocess.DEVNULL, start_new_session=True,
                         env=environment(JSC_useJIT="0", SECRET="s3cret", GIO_MODULE_DIR="/tmp", SSLKEYLOGFILE="/tmp/keys"))
    try:
        worker = wait_for_worker()
        with open(f"/proc/{worker}/environ") as f:
            names = {entry.split("=")[0] for entry in f.read().split("\0") if entry}
        check(not names & {"JSC_useJIT", "SECRET", "GIO_MODULE_DIR", "SSLKEYLOGFILE", "LD_PRELOAD"}, names)
        with open(f"/proc/{worker}/status") as f:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        # Only the parent writes to the terminal, which holds lines back while a person is asked.
        for number in (0, 1, 2):
            at = os.readlink(f"/proc/{worker}/fd/{number}")
            check(at == "/dev/null" or at.startswith("pipe:") and at != os.readlink(f"/proc/{p.pid}/fd/{number}"), at)
        check(int(status["CapEff"], 16) == 0 and status["NoNewPrivs"] == "1", status)
        # Only root may empty this one; without new privileges it has no effect for others.
        check(os.geteuid() != 0 or int(status["CapBnd"], 16) == 0, status)
    finally:
        p.send_signal(signal.SIGINT)
        check(p.wait(timeout=15) == 130, p.returncode)
    check(not workers())


@test
def a_killed_parent_takes_its_worker_along():
    folder = project("orphan", "await host.timer.sleep(60000)")
    p = subprocess.Popen([APSULE, "run", folder], stdin=subprocess.DEVNULL, env=environment(), start_new_session=True)
    wait_for_worker()
    p.kill()
    p.wait()
    end = time.monotonic() + 5
    while workers() and time.monotonic() < end:
        time.sleep(0.05)
    check(not workers())


@test
def a_killed_worker_is_one_clear_error():
    folder = project("victim", "await host.timer.sleep(60000)")
    p = subprocess.Popen([APSULE, "run", folder], stdin=subprocess.DEVNULL, env=environment(), start_new_session=True,
                         stderr=subprocess.PIPE, text=True)
    os.kill(wait_for_worker(), signal.SIGKILL)
    _, err = p.communicate(timeout=15)
    check(p.returncode == 1 and "script.crashed" in err, err)


@test
def plugin_folders_are_listed_whatever_lies_in_them():
    folder = os.path.join(home, "plugins")
    os.makedirs(folder, exist_ok=True)
    good = os.path.join(os.path.dirname(APSULE), "libapsule-timer.so")
    with open(good, "rb") as f:
        image = f.read()
    for name, content in {"garbage": b"no library" * 100, "empty": b"", "truncated": image[: len(image) // 2],
                          "taken": image}.items():
        with open(f"{folder}/{name}.so", "wb") as f:
            f.write(content)
    shutil.copy("/lib/x86_64-linux-gnu/libz.so.1", f"{folder}/foreign.so")
    with open(f"{folder}/writable.so", "wb") as f:
        f.write(image)
    os.chmod(f"{folder}/writable.so", 0o666 | stat.S_IWOTH)
    os.symlink(good, f"{folder}/link.so")
    r = apsule("discover", "--plugins", folder, "--json")
    check(r.code == 0, r)
    found = {os.path.basename(f.get("path", "")): f for f in json.loads(r.out)["families"]}
    for name, code in {"garbage": "plugin.not_elf", "empty": "plugin.", "truncated": "plugin.truncated",
                       "foreign": "plugin.descriptor_missing", "writable": "plugin.world_writable",
                       "link": "plugin.not_readable", "taken": "plugin."}.items():
        entry = found[f"{name}.so"]
        check(entry["status"] == "invalid" and entry["code"].startswith(code) and entry["reason"], (name, entry))
    check(any(f["family"] == "timer" and f["provider"] == "bundled" and f["status"] != "invalid" for f in found.values()))
    if os.geteuid() == 0:
        r = apsule("discover", "--json", APSULE_PLUGIN_PATH=folder)
        check(not any(folder in f.get("path", "") for f in json.loads(r.out)["families"]), r)


@test
def typescript_and_imports_run_with_their_own_lines():
    folder = project("typed", "", entry="main.ts")
    with open(f"{folder}/lib.ts", "w") as f:
        f.write('export interface Point { x: number }\nexport function x(p: Point): number {\n  if (p.x < 0) throw new RangeError("left");\n  return p.x;\n}\n')
    with open(f"{folder}/main.ts", "w") as f:
        f.write('import { x, type Point } from "./lib";\nconst p: Point = { x: 4 };\nconsole.log("x is", x(p));\nx({ x: -1 });\n')
    r = apsule("run", folder)
    check("x is 4" in r.out and r.code == 1 and "left" in r.err and "lib.ts:3" in r.err and "> 3 |" in r.err, r)
    with open(f"{folder}/main.ts", "w") as f:
        f.write('const a: number = 1;\nimport "./nowhere";\n')
    r = apsule("run", folder)
    check(r.code == 1 and "main.ts:2" in r.err and "nowhere" in r.err, r)
    with open(f"{folder}/main.ts", "w") as f:
        f.write('import text from "/etc/passwd";\nconsole.log(text);\n')
    r = apsule("run", folder)
    check(r.code == 1 and "root:" not in r.out + r.err, r)


@test
def a_broken_manifest_is_one_error_with_file_and_line():
    folder = project("broken", "")
    with open(f"{folder}/app.json", "w") as f:
        f.write('{\n  "apsule": 1,\n  "id": "a.b",\n  oops\n}')
    r = apsule("run", folder)
    check(r.code == 6 and "manifest.syntax" in r.err and "app.json:4" in r.err, r)
    r = apsule("run", project("unknown", "", {"blutooth": True}))
    check(r.code == 6 and "manifest.unknown_permission" in r.err and "did you mean bluetooth" in r.err, r)
    r = apsule("run", project("needs", "", requires={"operations": ["teleport.now"]}))
    check(r.code == 6 and "teleport.now" in r.err, r)


finish()

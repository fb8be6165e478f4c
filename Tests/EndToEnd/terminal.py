"""At a real pseudo-terminal; see terminal.sh."""
import ctypes, fcntl, json, os, pty, select, shutil, signal, struct, subprocess, termios, time

from harness import APSULE, Result, apsule, at_terminal, check, environment, finish, home, project, test

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
GRANT = "ype yes or no:"
QUESTION = "Allow [o]nce, for this [r]un, [a]lways, or [n]ever?"


def installation():
    """A copy of the build, with Tests/Plugins/gallery beside it, whose stream needs no radio."""
    folder, build = os.path.join(home, "installation"), os.path.dirname(APSULE)
    os.makedirs(f"{folder}/Manifests")
    for name in os.listdir(build):
        if name in ("apsule", "apsule-launch", "apsule-worker", "libapsule-storage.so") or (name.startswith("libApsule") and name.endswith(".so")):
            shutil.copy2(f"{build}/{name}", folder)
    for name in ("runtime", "permissions", "storage"):
        shutil.copy2(f"{ROOT}/Manifests/{name}.json", f"{folder}/Manifests")
    source = f"{ROOT}/Tests/Plugins/gallery"
    subprocess.run(["cc", "-std=gnu11", "-fPIC", "-shared", "-pthread", "-I", f"{ROOT}/Sources/Kit/Sources/CApsule/include",
                    "-I", source, "-o", f"{folder}/libapsule-gallery.so", f"{source}/gallery.c"], check=True)
    return f"{folder}/apsule"


class Terminal:
    """A program at a pseudo-terminal of a size."""

    def __init__(self, *arguments, rows=24, columns=80, **env):
        self.screen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            variables = {**environment(TERM="xterm", LANG="C.UTF-8"), **env}
            os.execve(GALLERY, [GALLERY, *arguments], {k: v for k, v in variables.items() if v is not None})

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, condition, timeout=30):
        """Reads until the screen fulfils a condition; true where it did."""
        end = time.monotonic() + timeout
        while not condition(self.screen):
            if time.monotonic() > end:
                return False
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    chunk = os.read(self.fd, 65536)
                except OSError:
                    return condition(self.screen)
                if not chunk:
                    return condition(self.screen)
                self.screen += chunk.decode(errors="replace")
        return True

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, timeout=30):
        self.until(lambda _: False, timeout)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        code = os.waitstatus_to_exitcode(status)
        return Result(code if code >= 0 else 128 - code, self.screen, "", 0)


def frames(screen):
    """What was drawn, frame by frame, without escapes."""
    import re
    parts = re.split(r"\x1b\[\?25l\x1b\[\?7l", screen)[1:]
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", part).replace("\r", "").split("\n") for part in parts]


GALLERY = installation()


@test
def a_stream_of_items_is_a_table_in_place():
    t = Terminal("call", "gallery.list", "n:=60", "ms:=20", rows=12, columns=60)
    r = t.end()
    check(r.code == 0, r)
    last = frames(r.out)[-1]
    check(last[0].split() == ["label", "strength", "tags", "makers", "last", "seen"], last)
    check(all(len(line) < 60 for line in last), last)
    check(len([line for line in last if line.strip()]) <= 11, "it fits the window")
    strengths = [int(line.split(" dBm")[0].split()[-1]) for line in last[1:] if " dBm" in line]
    check(len(strengths) > 5 and strengths == sorted(strengths, reverse=True), last)
    check(any("more" in line for line in last) and any("60 found" in line for line in last), last)
    check(r.out.rstrip().endswith("\x1b[?7h\x1b[?25h"), "the terminal is given back")


@test
def names_from_elsewhere_control_nothing():
    r = Terminal("call", "gallery.list", "n:=1", "ms:=300", rows=24, columns=120).end()
    check("\x1b[2J" not in r.out and "\u202e" not in r.out and "evil\\u{1b}[2J\\u{202e}" in r.out, r)
    check(any("gone" in line for line in frames(r.out)[-1]), r)
    # Plain JSON for a terminal is escaped too, and stays JSON.
    r = Terminal("call", "gallery.list", "n:=1", TERM="dumb").end()
    check("\x1b" not in r.out and "\u202e" not in r.out, r)
    check(json.loads(r.out.splitlines()[0])["label"].startswith("evil\x1b[2J\u202e"), r)


@test
def ctrl_c_ends_the_stream_and_restores_the_terminal():
    t = Terminal("call", "gallery.list", "n:=100000", "ms:=20")
    check(t.until(lambda s: "found" in s and "Thing" in s), t.screen)
    t.type("\x03")
    r = t.end()
    check(r.code == 130 and r.out.rstrip().endswith("\x1b[?7h\x1b[?25h"), r)


@test
def the_table_follows_the_window():
    t = Terminal("call", "gallery.list", "n:=200", "ms:=20", rows=30, columns=100)
    check(t.until(lambda s: "Thing" in s), t.screen)
    t.resize(10, 40)
    before = len(t.screen)
    check(t.until(lambda s: len(frames(s[before:])) > 3), t.screen)
    last = frames(t.screen)[-2]
    check(all(len(line) < 40 for line in last) and len([line for line in last if line]) <= 9, last)
    t.type("\x03")
    check(t.end().code == 130)


@test
def elsewhere_and_with_json_it_is_lines():
    for result in (subprocess.run([GALLERY, "call", "gallery.list"], env=environment(), capture_output=True, text=True).stdout,
                   Terminal("call", "gallery.list", "--json").end().out):
        check("\x1b" not in result, result)
        kinds = [json.loads(line)["type"] for line in result.split("\n") if line.strip()]
        check(kinds == ["thing"] * 3 + ["gone", "end"], result)


@test
def colours_obey_their_variables():
    check("\x1b[1m" in Terminal("help", NO_COLOR=None).end().out)
    check("\x1b" not in Terminal("help", NO_COLOR="1").end().out)
    check("\x1b" not in Terminal("help", NO_COLOR=None, TERM="dumb").end().out)


@test
def a_long_call_says_how_long():
    r = Terminal("call", "gallery.slow", "ms:=2500").end()
    check(r.code == 0 and "gallery.slow … 1 s" in r.out and "\"slept\": true" in r.out, r)
    check(r.out.rindex("\x1b[?25h") < r.out.rindex("slept"), "the line is gone before the answer comes")


@test
def only_a_person_at_a_terminal_grants():
    for arguments in (("permissions", "grant", "apsule.cli", "storage"), ("permissions", "grant", "apsule.cli", "storage", "--json")):
        r = apsule(*arguments)
        check(r.code == 3 and "permission.denied" in r.err and "terminal" in r.err, r)
    check(json.loads(apsule("permissions", "list", "--json").out) == [])
    r = at_terminal("permissions", "grant", "apsule.cli", "storage", ahead="yes\nyes\n", answers=[(GRANT, "\n"), (GRANT, "no\n")])
    check(r.code == 3 and "yes or no" in r.out, r)
    check(json.loads(apsule("permissions", "list", "--json").out) == [])
    r = at_terminal("permissions", "grant", "apsule.cli", "storage", answers=[(GRANT, "yes\n")])
    check(r.code == 0, r)
    check([g["permission"] for g in json.loads(apsule("permissions", "list", "--json").out)] == ["storage"])
    check(json.loads(apsule("permissions", "revoke", "apsule.cli", "--json").out) == {"revoked": 1})


@test
def ctrl_c_at_the_question_ends_it():
    folder = project("ask", 'await host.storage.set("k", 1);', {"storage": True})
    r = at_terminal("run", folder, answers=[(QUESTION, "\x03")], timeout=20)
    check(r.code == 130 and r.seconds < 15, r)
    r = at_terminal("permissions", "grant", "apsule.cli", "storage", answers=[(GRANT, "\x03")], timeout=20)
    check(r.code in (130, -signal.SIGINT), r)
    check(json.loads(apsule("permissions", "list", "--json").out) == [])


@test
def output_waits_while_a_person_is_asked():
    script = """
    let count = 0;
    const timer = setInterval(() => console.log("tick", ++count), 10);
    await host.timer.sleep(100);
    await host.storage.set("k", 1);
    clearInterval(timer);
    console.log("last");
    """
    r = at_terminal("run", project("chatty", script, {"storage": True}), answers=[(QUESTION, "o\n")])
    check(r.code == 0, r)
    asked = r.out.index(" wants to ")
    answered = r.out.index(QUESTION) + len(QUESTION)
    check("tick" not in r.out[asked:answered], r)
    ticks = [int(line.split()[1]) for line in r.out.split("\n") if line.startswith("tick ")]
    check(ticks == list(range(1, len(ticks) + 1)) and r.out.rstrip().endswith("last"), r)


@test
def a_window_that_changes_does_not_answer():
    t = Terminal("call", "storage.set", "key=k", "value=v")
    check(t.until(lambda s: QUESTION in s), t.screen)
    for size in (40, 100, 60):
        t.resize(20, size)
        os.kill(t.pid, signal.SIGWINCH)
    t.type("o\n")
    check(t.end().code == 0, t.screen)


@test
def the_owners_settings_reach_a_family():
    folder = project("full", 'await host.storage.set("k", "x".repeat(200000)); console.log("kept");', {"storage": True},
                     settings={"storage": {"maximumBytes": 1 << 40}})
    config = os.path.join(home, ".config", "apsule")
    os.makedirs(config, exist_ok=True)
    path = os.path.join(config, "policy.json")
    for settings, code in (({"storage": {"maximumBytes": 50000}}, 1), ({}, 0)):
        with open(path, "w") as f:
            json.dump({"apsule": 1, "projects": {"test.full": {"allow": ["storage"], "settings": settings}}}, f)
        os.chmod(path, 0o600)
        r = apsule("run", folder)
        check(r.code == code, r)
    os.remove(path)


def grant(*more):
    return at_terminal("permissions", "grant", "apsule.cli", "storage", *more, answers=[(GRANT, "yes\n")])


@test
def a_damaged_store_is_said_and_left_alone():
    state = os.path.join(home, "damaged")
    check(grant("--state", state).code == 0)
    path = f"{state}/state/grants.db"
    with open(path, "rb") as f:
        sound = f.read()
    for name, content in {"garbage": b"no database" * 1000, "half": sound[: len(sound) // 2], "torn": sound[:4096] + b"\xff" * (len(sound) - 4096)}.items():
        with open(path, "wb") as f:
            f.write(content)
        r = apsule("permissions", "list", "--json", "--state", state)
        check(r.code == 4 and json.loads(r.err)["error"]["code"] == "grants.corrupt" and "Move" in r.err, (name, r))
        with open(path, "rb") as f:
            check(f.read() == content, f"{name}: what is damaged is not written over")
    with open(path, "wb") as f:
        f.write(sound)
    check(len(json.loads(apsule("permissions", "list", "--json", "--state", state).out)) == 1)


@test
def a_store_of_somebody_else_is_refused():
    state = os.path.join(home, "foreign")
    check(grant("--state", state).code == 0)
    path, kept = f"{state}/state/grants.db", f"{state}/kept.db"
    os.rename(path, kept)
    with open(kept, "rb") as f:
        content = f.read()

    def refused():
        r = apsule("permissions", "list", "--json", "--state", state)
        check(r.code == 4 and json.loads(r.err)["error"]["code"] == "grants.not_owner_only" and "fix" in r.err, r)

    os.symlink(kept, path)
    refused()
    os.remove(path)
    shutil.copy(kept, path)
    os.chmod(path, 0o666)
    refused()
    if os.geteuid() == 0:
        os.chmod(path, 0o600)
        os.chown(path, 65534, 65534)
        refused()
    with open(kept, "rb") as f:
        check(f.read() == content, "nothing is written through a link")


def on_a_small_disk():
    """In a mount namespace of its own: 128 KiB for a state folder, full after the first answer."""
    libc, user = ctypes.CDLL(None, use_errno=True), (os.geteuid(), os.getegid())
    if libc.unshare(0x20000 | (0 if user[0] == 0 else 0x10000000)) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if user[0] != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user[0]} {user[0]} 1"), ("gid_map", f"{user[1]} {user[1]} 1")):
            with open(f"/proc/self/{name}", "w") as f:
                f.write(text)
    libc.mount(b"none", b"/", None, 0x44000, None)
    folder = os.path.join(home, "small")
    os.makedirs(folder)
    check(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"size=128k") == 0, ctypes.get_errno())
    state = f"{folder}/s"
    check(grant("--state", state).code == 0)
    with open(f"{folder}/filler", "wb", buffering=0) as f:
        try:
            while f.write(b"x" * 1024):
                pass
        except OSError:
            pass
    r = at_terminal("permissions", "grant", "apsule.cli", "bluetooth", "--state", state, answers=[(GRANT, "yes\n")])
    full = r.code != 0 and ("grants.full" in r.out or "grants." in r.out) and "fix:" in r.out
    os.remove(f"{folder}/filler")
    listed = apsule("permissions", "list", "--json", "--state", state)
    check(full, r)
    check([g["permission"] for g in json.loads(listed.out)] == ["storage"], listed)


@test
def a_full_disk_loses_no_answer():
    pid = os.fork()
    if pid == 0:
        try:
            on_a_small_disk()
            os._exit(0)
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
    check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0)


finish()

"""What the end-to-end tests share: a temporary home, projects, runs with and without a terminal, and counting."""
import json, os, pty, select, shutil, signal, subprocess, sys, tempfile, time, traceback

APSULE = os.environ.get("APSULE") or os.path.join(os.path.dirname(__file__), "../../.build/release/apsule")
APSULE = os.path.realpath(APSULE)
home = tempfile.mkdtemp(prefix="apsule-e2e.")
passed, failed = 0, 0


def environment(**more):
    """A clean environment whose home is the tests' own."""
    kept = {k: os.environ[k] for k in ("PATH", "LANG", "TERM") if k in os.environ}
    return {**kept, "HOME": home, "NO_COLOR": "1", **more}


def project(name, script, permissions=None, /, **manifest):
    folder = os.path.join(home, "projects", name)
    os.makedirs(folder, exist_ok=True)
    app = {"apsule": 1, "id": f"test.{name}", "name": name, "version": "1.0.0", "permissions": permissions or {}}
    with open(f"{folder}/app.json", "w") as f:
        json.dump({**app, **manifest}, f)
    with open(f"{folder}/main.js", "w") as f:
        f.write(script)
    return folder


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __repr__(self):
        return f"exit {self.code} after {self.seconds:.1f} s\n--- out\n{self.out[-2000:]}\n--- err\n{self.err[-2000:]}"


def apsule(*arguments, timeout=60, **env):
    """Runs without a terminal."""
    begin = time.monotonic()
    p = subprocess.run([APSULE, *arguments], env=environment(**env), stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, timeout=timeout, start_new_session=True)
    return Result(p.returncode, p.stdout, p.stderr, time.monotonic() - begin)


def at_terminal(*arguments, answers=(), ahead="", timeout=60):
    """Runs at a pseudo-terminal; types `ahead` at once, then each (when this is on the screen, type that)."""
    begin = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job has it ignored, and hands that on
        os.execve(APSULE, [APSULE, *arguments], environment())
    screen, waiting = "", list(answers)
    if ahead:
        os.write(terminal, ahead.encode())
    seen = 0
    while time.monotonic() - begin < timeout:
        if waiting and waiting[0][0] in screen[seen:]:
            seen = len(screen)
            time.sleep(0.1)
            answer = waiting.pop(0)[1]
            os.kill(pid, answer) if isinstance(answer, int) else os.write(terminal, answer.encode())
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                break
            if not chunk:
                break
            screen += chunk.decode(errors="replace")
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return Result(os.waitstatus_to_exitcode(status), screen.replace("\r\n", "\n"), "", time.monotonic() - begin)


def check(condition, what=""):
    if not condition:
        raise AssertionError(what)


def test(function):
    """Runs a test now and counts it."""
    global passed, failed
    begin = time.monotonic()
    try:
        function()
        passed += 1
        print(f"ok {function.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
    except Exception:
        failed += 1
        print(f"FAILED {function.__name__}\n{traceback.format_exc()}", flush=True)


def workers():
    """Worker processes of this test's executable."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                command = f.read().split(b"\0")
        except OSError:
            continue
        if command[0] == APSULE.encode() + b"-worker":
            found.append(int(pid))
    return found


def wait_for_worker():
    for _ in range(200):
        if found := workers():
            return found[0]
        time.sleep(0.05)
    raise AssertionError("no worker")


def finish():
    shutil.rmtree(home, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)

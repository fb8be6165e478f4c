"""Runs in the rig's guest, beside bluetoothd: prints what it measured as one line of JSON."""
import json, os, pty, re, signal, subprocess, sys, time
import dbus

HERE = os.path.dirname(os.path.realpath(__file__))
SCAN = {
    "ours": [os.environ["APSULE"], "run", f"{HERE}/scan", "--allow", "bluetooth"],
    "bleak": [os.environ["PYTHON"], f"{HERE}/peer.py"],
    "bluetoothctl": ["bluetoothctl", "--timeout", "30", "scan", "le"],
}
TICKS = os.sysconf("SC_CLK_TCK")


def forget():
    """Takes away what bluetoothd remembers, which would look like a first advertisement."""
    bus = dbus.SystemBus()
    objects = dbus.Interface(bus.get_object("org.bluez", "/"), "org.freedesktop.DBus.ObjectManager").GetManagedObjects()
    adapter = dbus.Interface(bus.get_object("org.bluez", "/org/bluez/hci0"), "org.bluez.Adapter1")
    for path, interfaces in objects.items():
        if "org.bluez.Device1" in interfaces:
            adapter.RemoveDevice(path)


class Program:
    """A program at a terminal of its own, so that it writes each line at once."""

    def __init__(self, name):
        forget()
        main, side = pty.openpty()
        self.begin = time.monotonic()
        self.process = subprocess.Popen(SCAN[name], stdin=side, stdout=side, stderr=side, start_new_session=True)
        os.close(side)
        self.lines = os.fdopen(main, errors="replace")
        self.text = ""

    def line(self, pattern):
        for line in self.lines:
            self.text += line
            if found := re.search(pattern, line):
                return found
        raise SystemExit(f"it ended early:\n{self.text}")

    def cpu(self):
        """Milliseconds that it and what it started have used."""
        total, pids = 0, [self.process.pid]
        for pid in pids:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as file:
                    pids += [int(child) for child in file.read().split()]
        return total * 1000 / TICKS

    def stop(self):
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.lines.close()


def first(name, pattern, call=None):
    """Milliseconds until the first advertisement: since the program's start, and since it said that it begins."""
    program = Program(name)
    if call:
        program.line(call)
    called = time.monotonic()
    program.line(pattern)
    now = time.monotonic()
    program.stop()
    return (now - program.begin) * 1000, (now - called) * 1000


def steady(name):
    """Advertisements a second, and milliseconds of CPU for one, over eight seconds."""
    program = Program(name)
    for _ in range(3):
        program.line(r"^\d+\s*$")
    begin = (int(program.line(r"^(\d+)\s*$")[1]), program.cpu(), time.monotonic())
    for _ in range(7):
        program.line(r"^\d+\s*$")
    end = (int(program.line(r"^(\d+)\s*$")[1]), program.cpu(), time.monotonic())
    program.stop()
    count = end[0] - begin[0]
    return count / (end[2] - begin[2]), (end[1] - begin[1]) / max(count, 1)


result = {"first": {"ours": [], "called": [], "bluetoothctl": []}, "rate": {"ours": [], "bleak": []}, "cpu": {"ours": [], "bleak": []}}
for _ in range(int(sys.argv[1])):
    started, called = first("ours", r"^1\s*$", r"^scan\s*$")
    result["first"]["ours"].append(started)
    result["first"]["called"].append(called)
    result["first"]["bluetoothctl"].append(first("bluetoothctl", r"\[.*NEW.*\] Device|RSSI")[0])
for _ in range(max(1, int(sys.argv[1]) // 2)):
    for name in ("ours", "bleak"):
        rate, cpu = steady(name)
        result["rate"][name].append(rate)
        result["cpu"][name].append(cpu)
print(json.dumps(result))

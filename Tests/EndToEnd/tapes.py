"""Recordings for the end-to-end tests: written by hand, or by a run."""
import json, os

from harness import apsule, check, home

HEADER = '{"apsule":"recording","version":1}\n'


def tape(name, *lines):
    """A recording written by hand: each line is JSON, or the bytes of a broken one."""
    path = os.path.join(home, name + ".jsonl")
    with open(path, "w") as f:
        f.write(HEADER + "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def script(name, text):
    path = os.path.join(home, name + ".js")
    with open(path, "w") as f:
        f.write(text)
    return path


def call(number, operation, arguments, start, *entries):
    """The lines of one call: each entry is (time, {"reply": …})."""
    return [{"t": start, "call": number, "operation": operation, "arguments": arguments}] + [
        {"t": time, "call": number, **what} for time, what in entries]


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def device(name, rssi=-50):
    return {"id": name, "name": name, "rssi": rssi, "services": [], "manufacturerData": [], "serviceData": []}


def scan(*entries, number=1, start=0, **arguments):
    defaults = {"durationMs": 10000, "allowDuplicates": False, "goneAfterMs": 30000, "encoding": "base64"}
    return call(number, "bluetooth.scan", {**defaults, **arguments}, start, *entries)


def same_again(name, text, *options, times=3, permissions=("storage",)):
    """Records a script, replays it at several speeds: stdout and exit code are the same to the byte."""
    file, path = script(name, text), os.path.join(home, name + ".jsonl")
    allowed = [word for permission in permissions for word in ("--allow", permission)]
    first = apsule("run", file, *allowed, "--record", path, *options)
    for speed in ("max", "7", "1")[:times]:
        again = apsule("run", file, *allowed, "--replay", path, "--speed", speed, *options)
        check((again.code, again.out) == (first.code, first.out), (speed, first, again))
    return first, path

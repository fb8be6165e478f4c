#!/usr/bin/python3
"""The radio's own tests: what it repeats and what it filters, peripherals that fall silent, fail, hang, show numbers."""
import json

from bluez import *

adapter = interface("/org/bluez/hci0", ADAPTER)


def scan():
    adapter.SetDiscoveryFilter({"Transport": "le", "DuplicateData": dbus.Boolean(True)})
    adapter.StartDiscovery()
    return wait("Rig Heart", lambda: device("Rig Heart", "RSSI"))[0]


def peer(command, name, *words):
    answer = tool("ble-peer", command, name, *words)
    return answer if answer == "ok" else json.loads(answer)


# --- repetition ----------------------------------------------------------------------
tool("ble-peer", "filter", "off")
path = scan()
seen = changes(path, "RSSI")
run_for(3)
ok("every advertisement is delivered", len(seen) >= 15, f"{len(seen)} in 3 s")
adapter.StopDiscovery()

tool("ble-peer", "filter", "on")
scan()
run_for(1)
seen.clear()
run_for(3)
ok("duplicates are filtered", len(seen) == 0, f"{len(seen)} in 3 s")
data = changes(path, "ManufacturerData")
peer("manufacturer", "Rig Heart", "1521", "0a0b")
wait("changed data", lambda: data)
ok("changed data are reported although duplicates are filtered", bytes(data[-1][1521]) == b"\x0a\x0b")
seen.clear()
begun = time.monotonic()
wait("the next scan", lambda: seen, 30)
ok("the kernel's next scan reports everybody again", True, f"after {time.monotonic() - begun:.1f} s")

# --- connecting while the scan goes on, without repetition --------------------------------
heart = interface(path, DEVICE)
begun = time.monotonic()
error, _ = later(heart.Connect, seconds=60)
ok("connect while scanning, duplicates filtered", not error, error or f"after {time.monotonic() - begun:.1f} s")
peer("lose", "Rig Heart")
wait("link loss", lambda: not objects(DEVICE)[path]["Connected"])
ok("both ends lose the link", not peer("state", "Rig Heart")["connected"])
tool("ble-peer", "filter", "off")

# --- silence -----------------------------------------------------------------------------
wait("advertises again", lambda: peer("state", "Rig Heart")["advertising"])
peer("stop", "Rig Heart")
run_for(0.5)
seen.clear()
run_for(2)
ok("a peripheral that falls silent", not seen and not peer("state", "Rig Heart")["advertising"])
peer("start", "Rig Heart")
wait("it is back", lambda: seen)
ok("and one that comes back")
adapter.StopDiscovery()

# --- connections that fail -------------------------------------------------------------------
scan()
adapter.StopDiscovery()
peer("connect", "Rig Heart", "fail")
begun = time.monotonic()
error, _ = later(heart.Connect, seconds=60)
wait("not connected", lambda: not objects(DEVICE)[path]["Connected"])
ok("connect: fail", not objects(DEVICE)[path]["ServicesResolved"], f"{error} after {time.monotonic() - begun:.1f} s")
peer("connect", "Rig Heart", "hang")
begun, answers = time.monotonic(), []
heart.Connect(reply_handler=lambda: answers.append("connected"), error_handler=answers.append, timeout=60)
run_for(2)
ok("connect: hang", not answers, "no answer after 2 s")
later(heart.Disconnect)
wait("cancelled", lambda: answers)
ok("connect: cancelled by Disconnect", answers != ["connected"], f"{answers[0]} after {time.monotonic() - begun:.1f} s")
run_for(1)              # a Connect at once after the cancel is lost in BlueZ 5.66
scan()
adapter.StopDiscovery()
peer("connect", "Rig Heart", "mute")
error, _ = later(heart.Connect, seconds=60)
run_for(2)
props = objects(DEVICE)[path]
ok("connect: mute", props["Connected"] and not props["ServicesResolved"], error or "")
later(heart.Disconnect)
peer("connect", "Rig Heart", "ok")
wait("advertises again", lambda: peer("state", "Rig Heart")["advertising"])
error, _ = later(heart.Connect, seconds=60)
wait("ServicesResolved", lambda: objects(DEVICE)[path]["ServicesResolved"])
ok("connect: ok after all that", not error, error or "")
begun = time.monotonic()
slow = bytes(characteristic("6b1f0005")[0].ReadValue({}))
ok("a slow read", slow == b"\5" and time.monotonic() - begun >= 3)
later(heart.Disconnect)

# --- a person compares numbers ---------------------------------------------------------------
scan()
sensor_path, _ = wait("Rig Sensor", lambda: device("Rig Sensor", "RSSI"))
adapter.StopDiscovery()
sensor, agent = interface(sensor_path, DEVICE), Agent("DisplayYesNo")
error, _ = later(sensor.Pair, seconds=60)
numbers = peer("state", "Rig Sensor")["numbers"]
ok("pairing: both ends show one number", not error and len(numbers) == 1 and numbers == agent.numbers, error or numbers)
wait("ServicesResolved", lambda: objects(DEVICE)[sensor_path]["ServicesResolved"])
ok("an encrypted value", bytes(characteristic("6b1f0103")[0].ReadValue({})) == b"\x2b")

for p in (path, sensor_path):
    adapter.RemoveDevice(p)
peer("manufacturer", "Rig Heart", "1521", "01020304")
finish()

"""BlueZ over python-dbus, for the rig's own tests: what is asked for, waited for and checked."""
import subprocess, sys, time

import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus, loop = dbus.SystemBus(), GLib.MainLoop()
begin, passed = time.monotonic(), 0
ADAPTER, DEVICE, CHARACTERISTIC = "org.bluez.Adapter1", "org.bluez.Device1", "org.bluez.GattCharacteristic1"


def interface(path, name):
    return dbus.Interface(bus.get_object("org.bluez", path), name)


def objects(name):
    root = interface("/", "org.freedesktop.DBus.ObjectManager")
    return {p: i[name] for p, i in root.GetManagedObjects().items() if name in i}


def device(name, *having):
    """The device of that name, once it has the properties: its path and properties."""
    return next(((p, d) for p, d in objects(DEVICE).items()
                 if d.get("Name") == name and all(h in d for h in having)), None)


def characteristic(uuid):
    path = next(p for p, c in objects(CHARACTERISTIC).items() if c["UUID"].startswith(uuid.lower()))
    return interface(path, CHARACTERISTIC), path


def run_for(seconds):
    GLib.timeout_add(int(seconds * 1000), loop.quit)
    loop.run()


def wait(what, probe, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := probe():
            return value
        run_for(0.05)
    sys.exit(f"FAIL {what}: nothing after {seconds} s")


def ok(what, condition=True, detail=""):
    global passed
    if not condition:
        sys.exit(f"FAIL {what}: {detail}")
    passed += 1
    print(f"{time.monotonic() - begin:6.2f}s ok {what} {detail}", flush=True)


def finish():
    print(f"{passed} passed, 0 failed")


def later(call, *args, seconds=40):
    """A call during which the main loop runs: its error, or None, and its results."""
    result = []
    call(*args, reply_handler=lambda *r: result.append((None, r)), error_handler=lambda e: result.append((e, ())),
         timeout=seconds)
    wait(str(call), lambda: result, seconds + 1)
    return result[0]


def refused(call, *args):
    error, _ = later(call, *args)
    return (error.get_dbus_name(), str(error)) if error else (None, "no error")


def changes(path, property):
    """The list that the property's new values are added to from now on."""
    seen = []
    bus.add_signal_receiver(lambda i, changed, gone: property in changed and seen.append(changed[property]),
                            "PropertiesChanged", "org.freedesktop.DBus.Properties", path=path)
    return seen


def tool(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Agent(dbus.service.Object):
    """Accepts every pairing; notes the numbers that it was shown."""

    def __init__(self, capability):
        super().__init__(bus, "/selftest/agent")
        self.numbers = []
        manager = interface("/org/bluez", "org.bluez.AgentManager1")
        manager.RegisterAgent("/selftest/agent", capability)
        manager.RequestDefaultAgent("/selftest/agent")

    @dbus.service.method("org.bluez.Agent1", in_signature="o")
    def RequestAuthorization(self, device):
        print("        agent: RequestAuthorization")

    @dbus.service.method("org.bluez.Agent1", in_signature="ou")
    def RequestConfirmation(self, device, number):
        print(f"        agent: RequestConfirmation {number:06}")
        self.numbers.append(f"{number:06}")

    @dbus.service.method("org.bluez.Agent1")
    def Release(self):
        pass

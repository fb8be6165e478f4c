"""The virtual radio: a controller for bluetoothd (HCI over a socket), linked to emulated peripherals.

Reads a JSON file (see peripherals.json). A Unix socket takes one-line commands, each answered by one line:
  stop NAME                stop advertising (falls silent)     start NAME    advertise again
  disconnect NAME          the peripheral ends the connection  lose NAME     both ends lose it (supervision timeout)
  connect NAME MODE        what the next connection does: ok, fail (not established), hang (never completes),
                           mute (connects and then answers nothing; also for the one that is open)
  set NAME UUID HEX        set (and notify) a value            rssi NAME DBM     change the signal strength
  manufacturer NAME COMPANY HEX    change the advertised manufacturer data
  state NAME               as JSON: connected, advertising, mode, reports delivered, writes seen, numbers shown
  filter on|off            honour the host's "filter duplicates" or deliver every advertisement
  list                     the names, as JSON
"""
import argparse, asyncio, json, logging, os, sys

from bumble.controller import Controller
from bumble.core import UUID, AdvertisingData
from bumble.device import Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.att import ATT_Error, Attribute
from bumble.hci import Address
from bumble.host import Host
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.transport import open_transport

from radio import Link, Radio

P = Characteristic.Properties
PROPERTIES = {"read": P.READ, "write": P.WRITE, "write-without-response": P.WRITE_WITHOUT_RESPONSE,
              "notify": P.NOTIFY, "indicate": P.INDICATE}
A = Attribute.Permissions
MODES = ("ok", "fail", "hang", "mute")
PAIRING = {"none": PairingDelegate.NO_OUTPUT_NO_INPUT, "display": PairingDelegate.DISPLAY_OUTPUT_ONLY,
           "yes-no": PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT}


class Person(PairingDelegate):
    """Holds the peripheral in the hand: notes the numbers that it shows and agrees, or not."""

    def __init__(self, capability, accepts, numbers):
        super().__init__(io_capability=PAIRING[capability])
        self.accepts, self.numbers = accepts, numbers

    async def accept(self):
        return self.accepts

    async def compare_numbers(self, number, digits):
        self.numbers.append(f"{number:0{digits}}")
        return self.accepts

    async def display_number(self, number, digits):
        self.numbers.append(f"{number:0{digits}}")


class Peripheral:
    def __init__(self, spec, link):
        self.spec, self.name, self.mode = spec, spec["name"], spec.get("connect", "ok")
        self.connection, self.writes, self.values, self.chars, self.numbers = None, [], {}, {}, []
        self.manufacturer = spec.get("advertise", {}).get("manufacturer")
        self.rssi, self.reports, self.on_air = spec.get("rssi", -50), 0, False
        self.connectable, self.scan_response = spec.get("connectable", True), b""
        host = Host()
        host.controller = Controller(self.name, link=link, public_address=spec["address"])
        self.device = Device(name=self.name, address=Address(spec["address"]), host=host)
        self.device.on("connection", self.on_connection)
        capability, accepts = spec.get("pairing", "none"), not spec.get("refuses_pairing", False)
        self.device.pairing_config_factory = lambda _: PairingConfig(
            mitm=capability != "none", delegate=Person(capability, accepts, self.numbers))
        for service in spec.get("services", []):
            self.device.add_service(
                Service(service["uuid"], [self.characteristic(c) for c in service["characteristics"]]))
        link.peripherals[self.device.random_address] = self

    def characteristic(self, c):
        uuid = c["uuid"].upper()
        self.values[uuid] = bytes.fromhex(c.get("value", ""))
        properties = P(0)
        for p in c["properties"]:
            properties |= PROPERTIES[p]
        encrypted = c.get("encrypted", False)
        permissions = A(0)
        if properties & P.READ:
            permissions |= A.READABLE | (A.READ_REQUIRES_ENCRYPTION if encrypted else A(0))
        if properties & (P.WRITE | P.WRITE_WITHOUT_RESPONSE):
            permissions |= A.WRITEABLE | (A.WRITE_REQUIRES_ENCRYPTION if encrypted else A(0))

        async def read(connection):
            if "read_error" in c:
                raise ATT_Error(c["read_error"])
            if delay := c.get("read_delay_ms"):
                await asyncio.sleep(delay / 1000)
                if self.connection is not connection:   # its answer would go to the connection after it
                    await asyncio.get_running_loop().create_future()
            return self.values[uuid]

        async def write(connection, value):
            if "write_error" in c:
                raise ATT_Error(c["write_error"])
            logging.info("%s: %s written %s", self.name, uuid, bytes(value).hex())
            self.values[uuid] = bytes(value)
            self.writes.append([uuid, bytes(value).hex()])
            if c.get("echo"):
                await self.notify(uuid)

        char = Characteristic(uuid, properties, permissions, CharacteristicValue(read=read, write=write))
        self.chars[uuid] = (char, c)
        return char

    async def notify(self, uuid):
        if self.connection:
            await self.device.notify_subscribers(self.chars[uuid][0], self.values[uuid])

    async def ticker(self, uuid, c):
        values, i = [bytes.fromhex(v) for v in c["values"]], 0
        while True:
            await asyncio.sleep(c["notify_ms"] / 1000)
            self.values[uuid] = values[i % len(values)]
            i += 1
            await self.notify(uuid)

    def on_connection(self, connection):
        logging.info("%s: connected to %s", self.name, connection.peer_address)
        self.connection = connection
        connection.on("disconnection", self.on_disconnection)

    def on_disconnection(self, reason):
        logging.info("%s: disconnected, reason 0x%02x", self.name, reason)
        self.connection = None
        if self.on_air:
            asyncio.create_task(self.advertise())

    def advertising_data(self):
        """The advertisement and the scan response; the name goes where "name_in" says."""
        adv, T = self.spec.get("advertise", {}), AdvertisingData
        parts = [(T.FLAGS, bytes([adv.get("flags", 6)]))]
        short = b"".join(UUID(u).to_bytes() for u in adv.get("services", []) if len(u) == 4)
        long = b"".join(UUID(u).to_bytes() for u in adv.get("services", []) if len(u) > 4)
        if short:
            parts.append((T.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, short))
        if long:
            parts.append((T.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, long))
        for uuid, data in adv.get("service_data", {}).items():
            parts.append((T.SERVICE_DATA_16_BIT_UUID, UUID(uuid).to_bytes() + bytes.fromhex(data)))
        if self.manufacturer:
            m = self.manufacturer
            parts.append((T.MANUFACTURER_SPECIFIC_DATA, m["company"].to_bytes(2, "little") + bytes.fromhex(m["data"])))
        name, response = (T.COMPLETE_LOCAL_NAME, self.name.encode()), []
        if (where := adv.get("name_in", "advertisement")) != "nowhere":
            (response if where == "scan_response" else parts).append(name)
        both = bytes(AdvertisingData(parts)), bytes(AdvertisingData(response))
        for data in both:
            if len(data) > 31:
                raise SystemExit(f"{self.name}: advertisement is {len(data)} bytes, more than 31")
        return both

    async def advertise(self):
        self.on_air, interval = True, self.spec.get("interval_ms", 100)
        data, self.scan_response = self.advertising_data()
        if not self.connection:
            await self.device.start_advertising(
                advertising_data=data, advertising_interval_min=interval, advertising_interval_max=interval)

    async def start(self):
        await self.device.power_on()
        if self.spec.get("advertising", True):
            await self.advertise()
        for uuid, (_, c) in self.chars.items():
            if "notify_ms" in c:
                asyncio.create_task(self.ticker(uuid, c))

    async def command(self, verb, args, radio):
        if verb == "start":
            await self.advertise()
        elif verb == "stop":
            self.on_air = False
            await self.device.stop_advertising()
        elif verb == "disconnect":
            if self.connection:
                await self.connection.disconnect()
        elif verb == "lose":
            radio.lose(self.device.random_address)
        elif verb == "connect" and args[0] in MODES:
            self.mode = args[0]
        elif verb == "set":
            uuid = args[0].upper()
            self.values[uuid] = bytes.fromhex(args[1])
            await self.notify(uuid)
        elif verb == "manufacturer":
            self.manufacturer = {"company": int(args[0], 0), "data": args[1]}
            if self.on_air:
                await self.advertise()
        elif verb == "rssi":
            self.rssi = int(args[0])
        elif verb == "state":
            return json.dumps({"connected": self.connection is not None, "advertising": self.device.is_advertising,
                               "mode": self.mode, "reports": self.reports, "writes": self.writes,
                               "numbers": self.numbers})
        else:
            return f"error: unknown command {verb} {args}"
        return "ok"


async def obey(line, peripherals, radio):
    verb, _, rest = line.partition(" ")
    if verb == "filter" and rest in ("on", "off"):
        radio.filters = rest == "on"
        return "ok"
    if verb == "list":
        return json.dumps(list(peripherals))
    # names may contain spaces: the longest that matches
    name = max((n for n in peripherals if rest == n or rest.startswith(n + " ")), key=len, default=None)
    if name is None:
        return f"error: no peripheral in: {rest}"
    return await peripherals[name].command(verb, rest[len(name):].split(), radio)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--ready", help="file to create once the radio is up")
    parser.add_argument("--control", help="Unix socket for commands")
    parser.add_argument("--hci", required=True, help="bumble transport to bluetoothd's kernel")
    parser.add_argument("--filter-duplicates", action="store_true", help="honour the host's wish to see none")
    options = parser.parse_args()
    logging.basicConfig(level=os.environ.get("BLE_PEER_LOG", "INFO"), stream=sys.stderr,
                        format="%(relativeCreated)d %(name)s %(message)s")
    with open(options.config) as f:
        config = json.load(f)
    link = Link({})
    peripherals = {spec["name"]: Peripheral(spec, link) for spec in config["peripherals"]}
    transport = await open_transport(options.hci)
    radio = Radio("host", host_source=transport.source, host_sink=transport.sink, link=link,
                  public_address=config.get("adapter", {}).get("address", "00:1B:DC:00:00:01"),
                  filters=options.filter_duplicates)
    for p in peripherals.values():
        await p.start()

    async def serve(reader, writer):
        while line := await reader.readline():
            try:
                answer = await obey(line.decode().strip(), peripherals, radio)
            except Exception as e:
                answer = f"error: {e!r}"
            writer.write(answer.encode() + b"\n")
            await writer.drain()
        writer.close()

    if options.control:
        await asyncio.start_unix_server(serve, options.control)
        os.chmod(options.control, 0o666)
    if options.ready:
        open(options.ready, "w").close()
    await asyncio.get_running_loop().create_future()


asyncio.run(main())

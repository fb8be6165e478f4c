// Lists the BLE devices near by, then visits one: battery, heart rate, echo, pairing, until its link is lost.
const HEART_RATE = "180d", BATTERY = "180f", DEMO = "6b1f0001-5a3c-4c2b-9e8d-0a1b2c3d4e5f";
const demo = (n) => DEMO.replace("6b1f0001", `6b1f000${n}`);

const about = (device) => {
  const makers = device.manufacturerData.map((m) => `${m.companyName ?? m.company}: ${m.data}`);
  return `${device.name ?? "(no name)"}  ${device.rssi} dBm  [${device.services.join(" ")}]  ${makers.join(", ")}`;
};

const seen = new Set();
const found = await host.bluetooth.scan({ durationMs: 20000, encoding: "hex", goneAfterMs: 4000 }, (event) => {
  if (event.type === "device" && !seen.has(event.id)) console.log("found", about(event));
  if (event.type === "device") seen.add(event.id);
  if (event.type === "gone") console.log("silent", event.name);
  if (["lost", "resubscribed", "stalled"].includes(event.type)) console.log("scan", event.type);
}).then((scan) => scan.done);
console.log(`${found.length} devices`);

const device = found.find((d) => d.services.includes(HEART_RATE));
if (device) await visit(device.id);

async function visit(deviceId) {
  const lost = Promise.withResolvers();
  const watch = await host.bluetooth.watch((event) => {
    if (event.type === "disconnected" && event.id === deviceId) lost.resolve(event.reason);
  });
  await host.bluetooth.connect(deviceId);
  const services = (await host.bluetooth.services(deviceId)).map((service) => service.uuid);
  console.log("connected", services.length, "services");

  if (services.includes(BATTERY)) {
    const level = { deviceId, serviceId: BATTERY, characteristicId: "2a19", encoding: "hex" };
    const { value } = await host.bluetooth.read(level);
    console.log("battery", parseInt(value, 16), "%");
  }
  let beats = 0;
  const heart = { deviceId, serviceId: HEART_RATE, characteristicId: "2a37", encoding: "hex" };
  for await (const { type, value } of host.bluetooth.subscribe(heart)) {
    if (type === "value") console.log("heart rate", parseInt(value.slice(2, 4), 16));
    if (type === "value" && ++beats === 10) break;
  }
  if (services.includes(DEMO)) {
    const echo = { deviceId, serviceId: DEMO, characteristicId: demo(2) };
    await host.bluetooth.write({ ...echo, value: new TextEncoder().encode("hello") });
    const { value } = await host.bluetooth.read({ ...echo, encoding: "bytes" });
    console.log("echo", new TextDecoder().decode(value));
    const pairing = await host.bluetooth.pair(deviceId, (event) => console.log("pairing", event.type, event.passkey ?? ""));
    await pairing.done;
    const secret = await host.bluetooth.read({ ...echo, characteristicId: demo(3), encoding: "hex" });
    console.log("encrypted value", secret.value);
  }
  console.log("watching the link; Ctrl-C ends");
  console.log("link lost:", await lost.promise);
  watch.cancel();
}

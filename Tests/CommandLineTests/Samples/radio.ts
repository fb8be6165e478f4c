// Compiles as it is: what must not compile is marked, and the compiler refuses a mark without a fault.

// Calls: positional arguments, options after them, exact integers.
const tuned: number | bigint = await host.radio.tune("fm", 98_500_000n, { gain: null, timeoutMs: 500 });
await host.radio.tune(undefined, 5, { signal: AbortSignal.timeout(10) });
// @ts-expect-error: a band that does not exist
await host.radio.tune("uhf", 5);
// @ts-expect-error: the frequency is required
await host.radio.tune("fm");
// @ts-expect-error: a positional argument is no option
await host.radio.tune("fm", 5, { band: "am" });
// @ts-expect-error: an option that does not exist
await host.radio.tune("fm", 5, { gian: 3 });

const { echo, note } = await host.radio.send({ data: new Uint8Array(3), tags: ["a", 1], meta: { a: true } });
const bytes: string | Uint8Array = echo;
note.whatever.it.is;
await host.radio.send({ data: "AAAA" });
// @ts-expect-error: data is required
await host.radio.send();
// @ts-expect-error: of another type
await host.radio.send({ data: "AAAA", tags: [true] });
// @ts-expect-error: of another type
await host.radio.send({ data: "AAAA", meta: { a: 1 } });

// A stream with a final value: awaited, iterated, with a callback.
const stations: { id: string }[] = await host.radio.scan({ durationMs: 5 });
for await (const event of host.radio.scan()) {
    switch (event.type) {
    case "station": event.strength.toFixed(); break;
    case "level": event.value.toFixed(); break;
    case "noise": event.anything; break;
    case "dropped": event.count.toFixed(); break;
    case "lost": case "resubscribed": break;
    default: { const never: never = event; void never; }
    }
}
const scan = await host.radio.scan((event) => {
    if (event.type === "end") event.final?.map((station) => station.id);
    if (event.type === "error") event.error.code.length;
});
const id: string = scan.scanId;
const ended: { id: string }[] | undefined = await scan.done;
const stopped: { id: string }[] | undefined = await scan.cancel();
await scan.say("hello", { loud: true });
// @ts-expect-error: the handle fills scanId itself
await scan.say("id", "hello");
await host.radio.scan({ durationMs: 5, timeoutMs: 100 }, () => {});
// @ts-expect-error: an event of another kind
await host.radio.scan((event: { type: "other" }) => {});

// A stream without one gives its handle.
const listening = await host.radio.channel.listen("id", { mode: "slow" });
for await (const event of listening) if (event.type === "heard") event.text.trim();
await listening.cancel();
await host.radio.channel.listen("id", { mode: "slow" }, (event) => { if (event.type === "heard") event.text; });
// @ts-expect-error: mode is required
await host.radio.channel.listen("id", () => {});
// @ts-expect-error: no such family
host.television;

try {
    await host.radio.scan();
} catch (error) {
    if (error instanceof HostError) console.log(error.code, error.details.fix);
}

const code: Apsule.Radio.ErrorCode = "radio.jammed";
// @ts-expect-error: no such code
const other: Apsule.Radio.ErrorCode = "radio.silent";

// The runtime's own.
const timer: number = setTimeout((word: string) => word.trim(), 5, "word");
clearTimeout(timer);
setInterval(() => {}, 5);
queueMicrotask(() => {});
const controller = new AbortController();
controller.signal.addEventListener("abort", () => {}, { once: true });
controller.abort(new DOMException("enough", "AbortError"));
const text: string = new TextDecoder("utf-8", { fatal: true }).decode(new TextEncoder().encode("text"));
const query: string | null = new URL("https://example.com/?a=1").searchParams.get("a");
const copy: { a: number } = structuredClone({ a: 1 });
console.table([{ a: 1 }]);
console.log(atob(btoa("x")), performance.now(), require("./other.js"), __filename, __dirname, module.id);
state = { devices: [] };
actions = { refresh(payload) { return payload; } };
void [tuned, bytes, stations, id, ended, stopped, text, query, copy, code, other];

// What the script sees, and what the host calls.

const performance = Object.freeze({
    now: () => native.now(),
    timeOrigin: Date.now() - native.now(),
    toJSON() { return { timeOrigin: this.timeOrigin }; },
});

const globals = {
    HostError, DOMException, Event, EventTarget, AbortSignal, AbortController, TextEncoder, TextDecoder, atob, btoa,
    structuredClone, performance, queueMicrotask, console: hostConsole,
    setTimeout: (callback, delay, ...values) => addTimer(callback, delay, values),
    setInterval: (callback, delay, ...values) => addTimer(callback, delay, values, { every: true }),
    clearTimeout: removeTimer,
    clearInterval: removeTimer,
};
for (const name of Object.keys(globals)) hide(globalThis, name, globals[name]);
// The largest part waits until a script names it.
for (const name of ["URL", "URLSearchParams"]) {
    Object.defineProperty(globalThis, name, {
        get() {
            const classes = native.part("url")(native);
            for (const each of Object.keys(classes)) hide(globalThis, each, classes[each]);
            return classes[name];
        },
        set(value) { hide(globalThis, name, value); },
        enumerable: false,
        configurable: true,
    });
}
Object.defineProperty(globalThis, "host", { value: host, writable: false, enumerable: true, configurable: false });

// Compiling goes on beside the script; the host must look after it until it is done.
for (const name of ["compile", "instantiate"]) {
    const original = WebAssembly[name];
    hide(WebAssembly, name, (...values) => {
        const work = original.apply(WebAssembly, values), done = () => { shared[engineWork]--; };
        shared[engineWork]++;
        work.then(done, done);
        return work;
    });
}

const unhandled = (promise, reason) => native.uncaught(reason);

return { nameFamilies, deliver, deliverOne, fireTimer, runMain, describe, invokeAction, readState, unhandled, makeError };

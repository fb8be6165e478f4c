// One native crossing a call, and one back for everything that was answered in a turn of the loop.
//
// `native` are the host's functions, `shared` an Int32Array that both sides see: writing to it costs nothing,
// where an argument of a native call costs a conversion.

const status = 0, operationField = 1, slotField = 2, timeoutField = 3, flowField = 4;
const alive = 5, engineWork = 6, mainPending = 7;
const ok = 0, careful = 1, failed = 2, elsewhere = 3;

const pending = [], free = [];

/** Takes a place in the table of what is awaited; it keeps the project alive until `release`. */
function reserve(entry) {
    const slot = free.length > 0 ? free.pop() : pending.length;
    pending[slot] = entry;
    shared[alive]++;
    return slot;
}

function release(slot) {
    pending[slot] = undefined;
    free.push(slot);
    shared[alive]--;
}

class PendingCall {
    constructor(resolve, reject, error) {
        this.resolve = resolve;
        this.reject = reject;
        this.error = error;
        this.forget = undefined;
    }
}

function start(operation, text, timeout, signal) {
    const blobs = outgoing, error = trace();
    return new Promise((resolve, reject) => {
        const entry = new PendingCall(resolve, reject, error);
        const slot = reserve(entry);
        if (signal !== undefined) {
            entry.forget = whenAborted(signal, () => {
                native.cancel(slot);
                reject(fill(error, cancelled()));
            });
        }
        send(operation, slot, text, timeout, 0, blobs);
    });
}

function send(operation, slot, text, timeout, flow, blobs) {
    shared[operationField] = operation.index;
    shared[slotField] = slot;
    shared[timeoutField] = timeout;
    shared[flowField] = flow;
    if (blobs === undefined) native.start(text);
    else native.start(text, blobs);
}

/** Answers at once where the host can do so on this thread; else the call is started like any other. */
function startInline(operation, text, timeout, signal) {
    shared[operationField] = operation.index;
    const answer = outgoing === undefined ? native.answer(text) : native.answer(text, outgoing);
    switch (shared[status]) {
    case ok: return Promise.resolve(answer);
    case careful: return decodeInline(answer);
    case failed: return Promise.reject(fill(trace(), decode(answer[0], answer[1])));
    default: return start(operation, text, timeout, signal);
    }
}

function decodeInline([text, blobs]) {
    let value;
    try {
        value = decode(text, blobs);
    } catch {
        return Promise.reject(fill(trace(), invalidAnswer));
    }
    return Promise.resolve(value);
}

const invalidAnswer = { code: "plugin.invalid_answer", message: "The plugin answered with something that is no JSON." };

// What a delivered item is. Codes from `firstEvent` on are events, numbered as the descriptor lists them and then as
// `reservedEvents` does.
const answered = 0, refused = 1, opened = 2, ended = 3, broken = 4, firstEvent = 8;
const reservedEvents = ["lost", "dropped", "resubscribed"];
const sliceMs = 50;

/** Takes `[slot, code, value, …]` and gives the index to go on at in another turn, or -1. */
function deliver(items, from) {
    if (fresh.length > 0) decide();
    let until = 0;
    for (let index = from; index < items.length; index += 3) {
        const code = items[index + 1];
        receive(items[index], code, items[index + 2]);
        if (code < firstEvent) continue;
        // Callbacks have run: let other work have its turn before they take too long together.
        if (until === 0) until = Date.now() + sliceMs;
        else if (Date.now() > until) return index + 3 < items.length ? index + 3 : -1;
    }
    return -1;
}

/** One item whose value needs care, as text. */
function deliverOne(slot, code, text, blobs) {
    if (fresh.length > 0) decide();
    let value;
    try {
        value = decode(text, blobs);
    } catch {
        return receive(slot, code <= opened ? refused : broken, invalidAnswer);
    }
    receive(slot, code, value);
}

function receive(slot, code, value) {
    const entry = pending[slot];
    if (entry === undefined) return;
    if (entry instanceof Stream) return entry.receive(code, value);
    release(slot);
    entry.forget?.();
    if (code === answered) entry.resolve(value);
    else entry.reject(fill(entry.error, value));
}

/** Runs a callback of the script; what it throws is an uncaught error of the project. */
function run(callback, ...values) {
    try {
        callback(...values);
    } catch (error) {
        native.uncaught(error);
    }
}

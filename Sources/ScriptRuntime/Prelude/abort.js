// Event, EventTarget and AbortController, as far as cancelling needs them.

class DOMException extends Error {
    constructor(message = "", name = "Error") {
        super(message);
        hide(this, "name", String(name));
    }

    get code() { return { DataCloneError: 25, TimeoutError: 23, AbortError: 20, InvalidCharacterError: 5 }[this.name] ?? 0; }
}

class Event {
    #type;
    #prevented = false;
    #stopped = false;

    constructor(type, { cancelable = false } = {}) {
        this.#type = String(type);
        this.cancelable = Boolean(cancelable);
        this.target = this.currentTarget = null;
        this.timeStamp = native.now();
    }

    get type() { return this.#type; }
    get defaultPrevented() { return this.#prevented; }
    preventDefault() { if (this.cancelable) this.#prevented = true; }
    stopPropagation() {}
    stopImmediatePropagation() { this.#stopped = true; }
    static stopped(event) { return event.#stopped; }
}
const isStopped = Event.stopped;
delete Event.stopped;

class EventTarget {
    #listeners = [];

    addEventListener(type, listener, options) {
        if (listener === null || listener === undefined) return;
        const { once = false, signal } = typeof options === "object" && options !== null ? options : {};
        if (signal?.aborted || this.#listeners.some((each) => each.type === type && each.listener === listener)) return;
        this.#listeners.push({ type: String(type), listener, once: Boolean(once) });
        if (signal !== undefined) whenAborted(signal, () => this.removeEventListener(type, listener));
    }

    removeEventListener(type, listener) {
        this.#listeners = this.#listeners.filter((each) => each.type !== type || each.listener !== listener);
    }

    dispatchEvent(event) {
        event.target = event.currentTarget = this;
        for (const each of this.#listeners.filter((each) => each.type === event.type)) {
            if (!this.#listeners.includes(each)) continue;
            if (each.once) this.removeEventListener(each.type, each.listener);
            if (typeof each.listener === "function") run(each.listener.bind(this), event);
            else run((value) => each.listener.handleEvent(value), event);
            if (isStopped(event)) break;
        }
        event.currentTarget = null;
        return !event.defaultPrevented;
    }
}

let abortSignal, newSignal, whenAborted;

class AbortSignal extends EventTarget {
    #aborted = false;
    #reason;
    #reactions = new Set();

    constructor(key) {
        if (key !== newSignal) throw new TypeError("An AbortSignal comes from an AbortController, or from AbortSignal.timeout, any or abort");
        super();
        this.onabort = null;
    }

    static {
        newSignal = {};
        abortSignal = (signal, reason) => {
            if (signal.#aborted) return;
            signal.#aborted = true;
            signal.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
            for (const reaction of [...signal.#reactions]) reaction();
            signal.#reactions.clear();
            const event = new Event("abort");
            if (typeof signal.onabort === "function") run((value) => signal.onabort(value), event);
            signal.dispatchEvent(event);
        };
        whenAborted = (signal, reaction) => {
            signal.#reactions.add(reaction);
            return () => signal.#reactions.delete(reaction);
        };
    }

    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }

    static abort(reason) {
        const signal = new AbortSignal(newSignal);
        abortSignal(signal, reason);
        return signal;
    }

    /** Does not keep the project alive. */
    static timeout(milliseconds) {
        const signal = new AbortSignal(newSignal);
        addTimer(() => abortSignal(signal, new DOMException("The operation timed out", "TimeoutError")), milliseconds, [], { quiet: true });
        return signal;
    }

    static any(signals) {
        const signal = new AbortSignal(newSignal), all = [...signals];
        const done = all.find((each) => each.aborted);
        if (done !== undefined) abortSignal(signal, done.reason);
        else {
            const forget = all.map((each) => whenAborted(each, () => {
                for (const stop of forget) stop();
                abortSignal(signal, each.reason);
            }));
        }
        return signal;
    }
}

class AbortController {
    #signal = new AbortSignal(newSignal);
    get signal() { return this.#signal; }
    abort(reason) { abortSignal(this.#signal, reason); }
}

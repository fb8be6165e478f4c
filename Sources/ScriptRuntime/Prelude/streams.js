// Streams: a callback, `for await`, or the final value, over one queue that the host holds until it is asked.

const undecided = 0, called = 1, iterated = 2, discarded = 3;
const flowing = -1, discarding = -2;
const lead = 64;  // events that may wait on this side for an iterator
const fresh = [];  // streams nobody has decided on yet in this turn

class Stream {
    constructor(operation, callback) {
        this.operation = operation;
        this.callback = callback;
        this.mode = callback === undefined ? undecided : called;
        this.slot = -1;
        this.error = trace();
        this.queue = [];
        this.readers = [];
        this.credit = 0;
        this.isOpen = this.isOver = this.isCancelled = this.saidEnd = false;
        this.failure = undefined;
        this.handle = undefined;
        this.forget = undefined;
        this.done = new Promise((resolve, reject) => { this.finish = resolve; this.break = reject; });
        this.done.catch(() => {});
        if (this.mode === undecided) fresh.push(this);
    }

    get givesFinal() { return this.operation.final && this.callback === undefined; }

    begin(text, timeout, signal, blobs) {
        this.slot = reserve(this);
        if (signal !== undefined) this.forget = whenAborted(signal, () => this.cancel());
        send(this.operation, this.slot, text, timeout, this.mode === called ? flowing : 0, blobs);
        return new StreamPromise(this);
    }

    receive(code, value) {
        if (code >= firstEvent) return this.event(code - firstEvent, value);
        switch (code) {
        case opened: return this.open(value);
        case ended: return this.end(value);
        default: return this.fail(fill(this.error, value));
        }
    }

    open(value) {
        this.isOpen = true;
        this.handle = new StreamHandle(this, value ?? {});
        if (this.isCancelled) return;
        if (!this.givesFinal) this.resolve(this.handle);
        // Events wait here so that the end is seen even where nobody takes them.
        if (this.mode === undecided && !this.operation.final) this.ask();
    }

    event(index, value) {
        const type = this.operation.events[index] ?? reservedEvents[index - this.operation.events.length];
        const isObject = typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
        const event = isObject ? value : value === null ? { type } : { type, value };
        if (event.type !== type) event.type = type;
        if (this.credit > 0) this.credit--;
        if (this.isCancelled || this.mode === discarded) return;
        if (this.mode === called) run(this.callback, event);
        else if (this.readers.length > 0) this.readers.shift().resolve({ value: event, done: false });
        else this.queue.push(event);
        if (this.readers.length > 0) this.ask();
    }

    end(value) {
        if (value.reason === "revoked") {
            return this.fail(fill(this.error, value.error ?? { code: "permission.revoked", message: "The permission was revoked." }), "revoked");
        }
        this.close();
        // Stopping loses no results: a final value counts even after a cancel.
        if (this.isCancelled && value.final === undefined) this.reject(fill(this.error, cancelled()));
        else if (!this.isOpen || this.givesFinal) this.resolve(value.final);
        this.say(value.final === undefined ? { type: "end", reason: value.reason } : { type: "end", reason: value.reason, final: value.final });
        this.finish(value.final);
        for (const reader of this.readers.splice(0)) reader.resolve({ value: value.final, done: true });
        this.final = value.final;
    }

    fail(error, reason) {
        this.close();
        if (this.isCancelled && this.isOpen && error.code === "host.cancelled") {
            this.reject(error);
            return this.finish(undefined);
        }
        if (this.isOpen) {
            if (reason !== undefined) this.say({ type: "end", reason });
            else this.say({ type: "error", error, code: error.code, message: error.message, details: error.details });
        }
        if (!this.isOpen || this.givesFinal) this.reject(error);
        this.break(error);
        const readers = this.readers.splice(0);
        if (readers.length > 0) readers.shift().reject(error);
        else this.failure = error;
        for (const reader of readers) reader.resolve({ value: undefined, done: true });
    }

    close() {
        this.isOver = true;
        release(this.slot);
        this.forget?.();
    }

    /** Tells the callback how it ended, once. */
    say(event) {
        if (this.mode !== called || this.saidEnd) return;
        this.saidEnd = true;
        run(this.callback, event);
    }

    cancel() {
        if (this.isOver || this.isCancelled) return this.done;
        this.isCancelled = true;
        this.queue.length = 0;
        native.cancel(this.slot);
        if (!this.isOpen) this.reject(fill(this.error, cancelled()));
        else queueMicrotask(() => this.say({ type: "end", reason: "cancelled" }));
        for (const reader of this.readers.splice(0)) reader.resolve({ value: undefined, done: true });
        return this.done;
    }

    // MARK: Taking events

    iterate() {
        if (this.mode === iterated) throw hostError("host.invalid_argument", `${this.operation.fullName}: the stream is already being iterated.`);
        if (this.mode !== undecided) {
            const taken = this.mode === called ? "a callback takes the events" : "only its end was awaited, so its events are gone; iterate it at once";
            throw hostError("host.invalid_argument", `${this.operation.fullName}: ${taken}.`);
        }
        this.mode = iterated;
        this.promise.quiet();
        return {
            next: () => this.next(),
            return: async (value) => { this.cancel(); return { value, done: true }; },
            [Symbol.asyncIterator]() { return this; },
        };
    }

    next() {
        if (this.queue.length > 0) return Promise.resolve({ value: this.queue.shift(), done: false });
        if (this.failure !== undefined) {
            const error = this.failure;
            this.failure = undefined;
            return Promise.reject(error);
        }
        if (this.isOver || this.isCancelled) return Promise.resolve({ value: this.final, done: true });
        return new Promise((resolve, reject) => {
            this.readers.push({ resolve, reject });
            this.ask();
        });
    }

    ask() {
        if (this.credit > 0 || this.isOver) return;
        // Where the host drops old events, what waits here would only be older.
        this.credit = this.operation.latest ? 1 : lead;
        native.flow(this.slot, this.credit);
    }

    /** Nobody iterates: the events are let go, and the end is still seen. */
    discard() {
        if (this.mode !== undecided || this.isOver) return;
        this.mode = discarded;
        this.queue.length = 0;
        native.flow(this.slot, discarding);
    }
}

/** At the end of the turn in which a stream was made: one with a final value that nobody iterates runs for that value. */
function decide() {
    for (const stream of fresh.splice(0)) {
        if (stream.operation.final || stream.wantsDone) stream.discard();
    }
}

/** What a stream call returns: awaited, the handle or the final value; and async-iterable. */
class StreamPromise extends Promise {
    #stream;

    constructor(stream) {
        super((resolve, reject) => { stream.resolve = resolve; stream.reject = reject; });
        this.#stream = stream;
        stream.promise = this;
    }

    static get [Symbol.species]() { return Promise; }

    [Symbol.asyncIterator]() { return this.#stream.iterate(); }

    quiet() { this.then(undefined, () => {}); }
}

class StreamHandle {
    #stream;

    constructor(stream, fields) {
        this.#stream = stream;
        const { operation } = stream;
        for (const key of Object.keys(fields)) {
            if (key !== "cancel" && key !== "done" && key !== "then") define(this, key, fields[key]);
        }
        for (const [name, method] of Object.entries(operation.methods ?? {})) {
            const target = operationNamed(method);
            if (target !== undefined) hide(this, name, callable(target, { [operation.handleId]: fields[operation.handleId] }));
        }
    }

    /** Stops the stream; gives what `done` gives. */
    cancel() { return this.#stream.cancel(); }

    get done() {
        const stream = this.#stream;
        if (stream.mode === undecided && !stream.wantsDone) {
            stream.wantsDone = true;
            fresh.push(stream);
        }
        return stream.done;
    }

    [Symbol.asyncIterator]() { return this.#stream.iterate(); }
}

// HostError, and how errors get their stack, text and suggestions.

class HostError extends Error {
    constructor(code, message, details = {}) {
        super(message);
        this.code = code;
        this.details = details;
    }
}
hide(HostError.prototype, "name", "HostError");

function hide(object, name, value) {
    Object.defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
}

function define(object, name, value) {
    // Assigning to `__proto__` would change the prototype instead of making a property.
    if (name === "__proto__") Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
    else object[name] = value;
}

/** An error that is filled in when the call fails, made now so that its stack names the caller. */
function trace(frames = 12) {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = frames;
    const error = new HostError("", "");
    Error.stackTraceLimit = limit;
    return error;
}

function fill(error, failure) {
    hide(error, "message", failure.message);
    error.code = failure.code;
    error.details = failure.details ?? {};
    return placed(error);
}

/** Takes the prelude's own frames off, so that stack, line and column say where the script called. */
function placed(error) {
    const frames = error.stack.split("\n").filter((frame) => !frame.includes("apsule:prelude") && !frame.endsWith("[native code]"));
    hide(error, "stack", frames.join("\n"));
    const place = /([^@\n]*):(\d+):(\d+)$/.exec(frames[0] ?? "");
    hide(error, "sourceURL", place?.[1]);
    hide(error, "line", place ? Number(place[2]) : undefined);
    hide(error, "column", place ? Number(place[3]) : undefined);
    return error;
}

function hostError(code, message, details) {
    // Found deep in the arguments, the prelude's own frames are many.
    return fill(trace(400), { code, message, details });
}

function invalid(path, expected, got, more) {
    return hostError("host.invalid_argument", `${path || "arguments"}: expected ${expected}, got ${got}`, { path, expected, got, ...more });
}

function cancelled() {
    return { code: "host.cancelled", message: "The call was cancelled." };
}

/** What `wanted` may have been meant to be, as a sentence to append. */
function didYouMean(wanted, names) {
    const best = nearest(wanted, names);
    return best === undefined ? "" : ` Did you mean "${best}"?`;
}

function nearest(wanted, names) {
    let best, least = Math.ceil(wanted.length / 3) + 1;
    for (const name of names) {
        const cost = name.toLowerCase() === wanted.toLowerCase() ? 0 : distance(wanted, name, least);
        if (cost < least) [best, least] = [name, cost];
    }
    return best;
}

/** Insertions, removals, replacements and swaps of neighbours between two words, cut off at `limit`. */
function distance(one, other, limit) {
    if (one.length > 64 || Math.abs(one.length - other.length) >= limit) return limit;
    let before = [], row = Array.from({ length: other.length + 1 }, (_, index) => index);
    for (let i = 1; i <= one.length; i++) {
        const next = [i];
        for (let j = 1; j <= other.length; j++) {
            const same = one[i - 1] === other[j - 1] ? 0 : 1;
            next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + same);
            if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) {
                next[j] = Math.min(next[j], before[j - 2] + 1);
            }
        }
        [before, row] = [row, next];
    }
    return row[other.length];
}

function kindOf(value) {
    if (value === null) return "null";
    if (Array.isArray(value)) return "an array";
    if (typeof value !== "object") return typeof value === "undefined" ? "undefined" : `a ${typeof value}`;
    const name = Object.getPrototypeOf(value)?.constructor?.name;
    return typeof name === "string" && name !== "" && name !== "Object" ? `a ${name}` : "an object";
}

// structuredClone for the types of the language.

function structuredClone(value, { transfer = [] } = {}) {
    if (transfer.length > 0 && transfer.some((each) => !(each instanceof ArrayBuffer))) throw unclonable("a transfer of something else than an ArrayBuffer");
    const result = copied(value, new Map());
    for (const buffer of transfer) buffer.transfer();
    return result;
}

function unclonable(what) {
    return new DOMException(`${what} cannot be cloned`, "DataCloneError");
}

function copied(value, seen) {
    if (typeof value === "function" || typeof value === "symbol") throw unclonable(kindOf(value));
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (copy) => {
        seen.set(value, copy);
        return copy;
    };
    if (Array.isArray(value)) return members(keep(new Array(value.length)));
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    for (const type of [Number, String, Boolean, BigInt]) {
        if (value instanceof type) return keep(Object(value.valueOf()));
    }
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) {
        const buffer = copied(value.buffer, seen);
        return keep(new value.constructor(buffer, value.byteOffset, value instanceof DataView ? value.byteLength : value.length));
    }
    if (value instanceof Map) {
        const copy = keep(new Map());
        for (const [key, item] of [...value]) copy.set(copied(key, seen), copied(item, seen));
        return copy;
    }
    if (value instanceof Set) {
        const copy = keep(new Set());
        for (const item of [...value]) copy.add(copied(item, seen));
        return copy;
    }
    if (value instanceof Error) return copiedError(value, seen, keep);
    if (unfit.some((type) => value instanceof type) || value instanceof WeakRef || value instanceof StreamHandle) throw unclonable(kindOf(value));
    return members(keep({}));

    function members(copy) {
        for (const key of Object.keys(value)) define(copy, key, copied(value[key], seen));
        return copy;
    }
}

function copiedError(error, seen, keep) {
    const types = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
    const copy = keep(new (Object.hasOwn(types, error.name) ? types[error.name] : Error)(String(error.message)));
    hide(copy, "stack", String(error.stack));
    if (Object.hasOwn(error, "cause")) hide(copy, "cause", copied(error.cause, seen));
    return copy;
}

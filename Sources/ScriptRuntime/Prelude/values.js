// How arguments become JSON and blobs, and results become values again.

const maximumDepth = 64, maximumText = 8 * 1024 * 1024, maximumBlobs = 256 * 1024 * 1024;
let outgoing;  // the blobs of the last encode

function encode(value) {
    outgoing = undefined;
    if (isPlain(value, 1)) {
        const text = JSON.stringify(value);
        if (text.length > maximumText) throw tooLarge("JSON", maximumText);
        // A lone surrogate is written as an escape, which well-formed text never is.
        if (!text.includes('"$') && !text.includes("\\ud")) return text;
    }
    return encodeWithCare(value);
}

/** Whether JSON.stringify alone writes the value as it should be. */
function isPlain(value, depth) {
    switch (typeof value) {
    case "string": return value.length <= maximumText;
    case "boolean": return true;
    case "number": return value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER;
    case "object": break;
    default: return false;
    }
    if (value === null) return true;
    if (depth > maximumDepth || value.toJSON !== undefined) return false;
    if (Array.isArray(value)) {
        for (let index = 0; index < value.length; index++) {
            if (!isPlain(value[index], depth + 1)) return false;
        }
        return true;
    }
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return false;
    const keys = Object.keys(value);
    for (let index = 0; index < keys.length; index++) {
        const member = value[keys[index]];
        if (member !== undefined && !isPlain(member, depth + 1)) return false;
    }
    return true;
}

/** The same for everything: finds the fault and its path, and takes what JSON lacks. */
function encodeWithCare(root) {
    const blobs = [], above = [];
    let length = 0, blobBytes = 0;

    const put = (text) => {
        length += text.length;
        if (length > maximumText) throw tooLarge("JSON", maximumText);
        return text;
    };
    const quote = (text, path) => {
        if (text.length > maximumText) throw tooLarge("JSON", maximumText);
        if (!text.isWellFormed()) throw invalid(path, "well-formed Unicode", "a lone surrogate");
        return put(JSON.stringify(text));
    };
    const blob = (bytes) => {
        blobBytes += bytes.byteLength;
        if (blobBytes > maximumBlobs) throw tooLarge("binary data", maximumBlobs);
        blobs.push(bytes);
        return put(`{"$blob":${blobs.length - 1}}`);
    };
    const object = (value, path) => {
        const parts = [];
        for (const key of Object.keys(value)) {
            const member = value[key];
            if (member === undefined) continue;
            const inner = joined(path, key);
            const name = quote(key.startsWith("$") ? "$" + key : key, inner);
            parts.push(name + ":" + write(member, inner, key));
        }
        return `{${parts.join(",")}}`;
    };
    const write = (value, path, key) => {
        switch (typeof value) {
        case "string": return quote(value, path);
        case "boolean": return put(String(value));
        case "number":
            if (!Number.isFinite(value)) throw invalid(path, "a finite number", String(value));
            // With an exponent, so that what was a number comes back as one and not as a BigInt.
            return put(Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value));
        case "bigint":
            if (BigInt.asIntN(64, value) !== value) throw invalid(path, "an integer of 64 bits", "a larger BigInt");
            return put(String(value));
        case "object": break;
        default: throw invalid(path, "a value that JSON has", kindOf(value));
        }
        if (value === null) return put("null");
        if (value instanceof Uint8Array) return blob(value);
        if (value instanceof ArrayBuffer) return blob(new Uint8Array(value));
        if (ArrayBuffer.isView(value)) return blob(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
        if (above.includes(value)) throw invalid(path, "a value that does not contain itself", "a cycle");
        if (typeof value.toJSON === "function") {
            above.push(value);
            const text = write(value.toJSON(key), path, key);
            above.pop();
            return text;
        }
        if (unfit.some((type) => value instanceof type)) {
            const hint = value instanceof Promise ? "a Promise (is an await missing?)" : kindOf(value);
            throw invalid(path, "a plain object or array", hint);
        }
        if (value instanceof Number || value instanceof String || value instanceof Boolean) return write(value.valueOf(), path, key);
        if (above.length >= maximumDepth) {
            throw hostError("host.payload_too_deep", `${path}: nests deeper than ${maximumDepth}.`, { path, limit: maximumDepth });
        }
        above.push(value);
        let text;
        if (Array.isArray(value)) {
            const parts = [];
            for (let index = 0; index < value.length; index++) parts.push(write(value[index], `${path}[${index}]`, String(index)));
            text = `[${parts.join(",")}]`;
        } else {
            text = object(value, path);
        }
        above.pop();
        return text;
    };

    const text = write(root, "", "");
    if (text.length > maximumText) throw tooLarge("JSON", maximumText);
    outgoing = blobs.length > 0 ? blobs : undefined;
    return text;
}

const unfit = [Map, Set, WeakMap, WeakSet, Promise, RegExp, Error];

function joined(path, key) {
    if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
    return path === "" ? key : `${path}.${key}`;
}

function tooLarge(what, limit) {
    return hostError("host.payload_too_large", `More than ${limit / 1048576} MiB of ${what} in one call; pass a file instead.`, { limit });
}

/** A result that JSON.parse alone would not give right: integers beyond 2^53, blobs, escaped keys. */
function decode(text, blobs) {
    const value = /\d{16}/.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
    return text.includes('"$') ? unescaped(value, blobs ?? []) : value;
}

function exact(_, value, context) {
    if (typeof value !== "number" || Number.isSafeInteger(value) || !/^-?\d+$/.test(context.source)) return value;
    return BigInt(context.source);
}

function unescaped(value, blobs) {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
        for (let index = 0; index < value.length; index++) value[index] = unescaped(value[index], blobs);
        return value;
    }
    const keys = Object.keys(value);
    if (keys.length === 1 && keys[0] === "$blob" && value.$blob in blobs) return blobs[value.$blob];
    const result = {};
    for (const key of keys) define(result, key.startsWith("$$") ? key.slice(1) : key, unescaped(value[key], blobs));
    return result;
}

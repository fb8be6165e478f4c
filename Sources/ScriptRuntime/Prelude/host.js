// `host`: proxies made from the descriptors alone, a family when it is first named.

const families = Object.create(null);  // name → the family's proxy
const operations = Object.create(null);  // full name → its record
const nothing = Object.freeze({});
const reserved = new Set(["timeoutMs", "signal"]);

const host = group("host", familyNames, family);

/**
 * To be called once, before the script runs and when the host knows its families: they are own properties, so that
 * naming one costs no trap; what is missing is looked up in a prototype that explains.
 */
function nameFamilies() {
    for (const name of familyNames()) {
        Object.defineProperty(host, name, { get: () => family(name), enumerable: true, configurable: true });
    }
}

function familyNames() {
    return JSON.parse(native.families());
}

function family(name) {
    if (families[name] !== undefined) return families[name];
    const description = native.describe(name);
    if (description === undefined) return undefined;
    const { operations: list } = JSON.parse(description);
    const proxy = group(name, () => list.map((operation) => operation.name));
    for (const operation of list) {
        operation.fullName = `${name}.${operation.name}`;
        operation.known = operation.known && new Set(operation.known);
        operations[operation.fullName] = operation;
        place(proxy, name, operation.name.split("."), callable(operation));
    }
    families[name] = proxy;
    Object.defineProperty(host, name, { value: proxy, writable: false, enumerable: true, configurable: true });
    return proxy;
}

function operationNamed(fullName) {
    family(fullName.slice(0, fullName.indexOf(".")));
    return operations[fullName];
}

function place(parent, path, [name, ...rest], leaf) {
    // Not by assignment, which the explaining prototype would refuse.
    const put = (value) => Object.defineProperty(parent, name, { value, writable: false, enumerable: true, configurable: true });
    if (rest.length === 0) return put(leaf);
    if (!Object.hasOwn(parent, name)) put(group(`${path}.${name}`, () => Object.keys(parent[name])));
    place(parent[name], `${path}.${name}`, rest, leaf);
}

/** An object whose missing properties are errors that say what may have been meant. */
function group(path, names, late) {
    const explain = new Proxy(Object.create(null), {
        get(_, key) {
            // What the language and its tools ask every object for.
            if (typeof key !== "string" || key === "then" || key === "toJSON" || key in Object.prototype) return Object.prototype[key];
            const arrived = late?.(key);
            if (arrived !== undefined) return arrived;
            const start = path === "host" ? "" : `${path}.`, found = nearest(key, names());
            const what = start === "" ? `There is no family "${key}" here.` : `There is no operation "${start}${key}".`;
            const suggestion = found === undefined ? undefined : start + found;
            const hint = suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
            throw hostError("host.operation_unknown", what + hint, { operation: start + key, suggestion });
        },
        has: (_, key) => key in Object.prototype,
        set(_, key) { throw new TypeError(`"${path}" cannot be changed: "${String(key)}"`); },
    });
    return Object.create(explain);
}

// MARK: Calling

function callable(operation, fixed) {
    const names = fixed === undefined ? operation.positional : operation.positional.filter((name) => !(name in fixed));
    const invoke = operation.kind === "stream" ? invokeStream : operation.inline ? invokeInline : invokeCall;
    const method = (...values) => {
        try {
            return invoke(operation, names, values, fixed);
        } catch (error) {
            if (error instanceof HostError && operation.kind === "stream") return refusedStream(operation, error);
            return Promise.reject(error);
        }
    };
    hide(method, "name", operation.name);
    return method;
}

let callTimeout = -1, callSignal;  // what `collect` took off the options

function invokeInline(operation, names, values, fixed) {
    const text = encode(collect(operation, names, values, fixed));
    const timeout = callTimeout, signal = callSignal;
    if (signal?.aborted) throw hostError("host.cancelled", "The call was cancelled.");
    return startInline(operation, text, timeout, signal);
}

function invokeCall(operation, names, values, fixed) {
    const text = encode(collect(operation, names, values, fixed));
    const timeout = callTimeout, signal = callSignal;
    if (signal?.aborted) throw hostError("host.cancelled", "The call was cancelled.");
    return start(operation, text, timeout, signal);
}

function invokeStream(operation, names, values, fixed) {
    const callback = typeof values.at(-1) === "function" ? values.pop() : undefined;
    const text = encode(collect(operation, names, values, fixed));
    const timeout = callTimeout, signal = callSignal, blobs = outgoing;
    if (signal?.aborted) throw hostError("host.cancelled", "The call was cancelled.");
    return new Stream(operation, callback).begin(text, timeout, signal, blobs);
}

function refusedStream(operation, error) {
    const stream = new Stream(operation, undefined);
    const promise = new StreamPromise(stream);
    stream.isOver = true;
    stream.failure = error;
    stream.reject(error);
    return promise;
}

/** The arguments as one object: positional ones under their names, options merged, the reserved options taken off. */
function collect(operation, names, values, fixed) {
    callTimeout = -1;
    callSignal = undefined;
    const count = values.length, places = names.length;
    const options = count > places ? values[places] : undefined;
    if (count > places + 1) throw invalid("", `at most ${places + 1} arguments for ${operation.fullName}`, String(count));
    if (options !== undefined) checkOptions(operation, options, names);
    if (places === 0 && fixed === undefined) {
        if (options === undefined) return nothing;
        if (options.timeoutMs === undefined && options.signal === undefined) {
            checkNames(operation, options, nothing, names);
            return options;
        }
    }
    const result = { ...fixed };
    for (let index = 0; index < places && index < count; index++) {
        if (values[index] !== undefined) define(result, names[index], values[index]);
    }
    if (options !== undefined) {
        checkNames(operation, options, fixed ?? nothing, names);
        for (const key of Object.keys(options)) {
            if (!reserved.has(key)) define(result, key, options[key]);
        }
        takeReserved(options);
    }
    return result;
}

function checkOptions(operation, options, names) {
    if (typeof options === "object" && options !== null && !Array.isArray(options) && !ArrayBuffer.isView(options)) return;
    if (typeof options === "function") throw invalid("", `options for ${operation.fullName}, which takes no callback`, "a function");
    const after = names.length === 0 ? "options as an object" : `options as an object after ${names.join(", ")}`;
    throw invalid("", `${after} for ${operation.fullName}`, kindOf(options));
}

function checkNames(operation, options, fixed, names) {
    for (const key of Object.keys(options)) {
        if (reserved.has(key)) continue;
        if (Object.hasOwn(fixed, key) || names.includes(key)) throw invalid(key, "it as an argument of its own", "an option of that name too");
        if (operation.known === null || operation.known.has(key) || options[key] === undefined) continue;
        const known = [...operation.known].filter((name) => !names.includes(name) && !Object.hasOwn(fixed, name)).concat(...reserved);
        const suggestion = nearest(key, known);
        const error = invalid(key, "a known option", "one that does not exist", { suggestion });
        hide(error, "message", `${operation.fullName} has no option "${key}".${didYouMean(key, known)}`);
        throw error;
    }
}

function takeReserved({ timeoutMs, signal }) {
    if (timeoutMs !== undefined) {
        if (typeof timeoutMs !== "number" || !(timeoutMs > 0)) throw invalid("timeoutMs", "a number of milliseconds above 0", String(timeoutMs));
        callTimeout = Math.min(Math.ceil(timeoutMs), 0x7fffffff);
    }
    if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid("signal", "an AbortSignal", kindOf(signal));
    callSignal = signal;
}

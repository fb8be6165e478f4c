// Values as a person reads them, in the manner of node's util.inspect and with bounds on everything.

const inspectLimits = { depth: 2, items: 100, text: 10_000, total: 65_536, line: 76 };

function inspect(value, { depth = inspectLimits.depth } = {}) {
    const context = { depth, above: [], left: inspectLimits.total };
    try {
        return shown(value, context, 0);
    } catch (error) {
        return `[cannot be shown: ${error instanceof Error ? error.message : typeof error}]`;
    }
}

function shown(value, context, level) {
    if (context.left <= 0) return "…";
    switch (typeof value) {
    case "string": return spent(context, level === 0 && context.plain ? value : quoted(value));
    case "bigint": return spent(context, `${value}n`);
    case "number": return spent(context, Object.is(value, -0) ? "-0" : String(value));
    case "symbol": return spent(context, String(value));
    case "function": return spent(context, shownFunction(value)) + members(value, context, level, Object.keys(value), "");
    case "object": return value === null ? spent(context, "null") : shownObject(value, context, level);
    default: return spent(context, String(value));
    }
}

function spent(context, text) {
    context.left -= text.length;
    return text;
}

function quoted(text) {
    const cut = text.length > inspectLimits.text ? text.slice(0, inspectLimits.text) : text;
    const mark = !cut.includes("'") ? "'" : !cut.includes('"') ? '"' : !cut.includes("`") ? "`" : "'";
    const body = cut.replace(/[\\\p{Cc}\p{Cf}\p{Cs}]/gu, (character) => {
        const known = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" }[character];
        return known ?? `\\u{${character.codePointAt(0).toString(16)}}`;
    });
    const rest = text.length - cut.length;
    return mark + (mark === "'" ? body.replaceAll("'", "\\'") : body) + mark + (rest > 0 ? `… ${rest} more characters` : "");
}

function shownFunction(value) {
    const isClass = /^class\b/.test(Function.prototype.toString.call(value));
    return isClass ? `[class ${value.name || "(anonymous)"}]` : `[Function${value.name ? `: ${value.name}` : " (anonymous)"}]`;
}

function typeName(value) {
    let prototype = Object.getPrototypeOf(value);
    if (prototype === null) return "[Object: null prototype]";
    while (prototype !== null) {
        const constructor = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
        if (typeof constructor === "function" && constructor.name !== "") return constructor.name;
        prototype = Object.getPrototypeOf(prototype);
    }
    return "Object";
}

function shownObject(value, context, level) {
    if (context.above.includes(value)) return "[Circular]";
    if (value === host || Object.values(families).includes(value)) return `[host${value === host ? "" : " family"}: ${Object.keys(value).join(", ")}]`;
    const name = typeName(value);
    if (value instanceof Error) return shownError(value, context, level, name);
    if (value instanceof Date) return spent(context, Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString());
    if (value instanceof RegExp) return spent(context, String(value));
    if (value instanceof Promise) return spent(context, `${name} {}`);
    if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) return `${name} { <items unknown> }`;
    for (const type of [Number, String, Boolean]) {
        if (value instanceof type) return `[${type.name}: ${shown(value.valueOf(), context, level + 1)}]`;
    }
    if (level > context.depth) return `[${Array.isArray(value) ? "Array" : name}]`;
    context.above.push(value);
    const text = entries(value, context, level, name);
    context.above.pop();
    return text;
}

function entries(value, context, level, name) {
    const next = level + 1;
    if (Array.isArray(value)) {
        const start = name === "Array" ? "" : `${name}(${value.length}) `;
        return start + listed(context, level, "[", "]", value.length, [...arrayItems(value, context, next)], others(value, context, next));
    }
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
        const items = Array.from(value.subarray(0, inspectLimits.items), (item) => shown(item, context, next));
        return `${name}(${value.length}) ${listed(context, level, "[", "]", value.length, items)}`;
    }
    if (value instanceof ArrayBuffer || value instanceof DataView) return `${name} { byteLength: ${value.byteLength} }`;
    if (value instanceof Map) {
        const items = [...take(value, inspectLimits.items)].map(([key, item]) => `${shown(key, context, next)} => ${shown(item, context, next)}`);
        return `${name}(${value.size}) ${listed(context, level, "{", "}", value.size, items)}`;
    }
    if (value instanceof Set) {
        const items = [...take(value, inspectLimits.items)].map((item) => shown(item, context, next));
        return `${name}(${value.size}) ${listed(context, level, "{", "}", value.size, items)}`;
    }
    const keys = ownKeys(value);
    return (name === "Object" ? "" : `${name} `) + listed(context, level, "{", "}", keys.length, properties(value, context, next, keys));
}

function* take(values, count) {
    for (const value of values) {
        if (count-- <= 0) return;
        yield value;
    }
}

function* arrayItems(value, context, level) {
    const count = Math.min(value.length, inspectLimits.items);
    for (let index = 0, holes = 0; index < count; index++) {
        if (!(index in value)) {
            holes++;
            if (index + 1 < count && !(index + 1 in value)) continue;
            yield `<${holes} empty item${holes === 1 ? "" : "s"}>`;
            holes = 0;
        } else {
            yield shown(value[index], context, level);
        }
    }
}

function ownKeys(value) {
    return Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
}

function others(value, context, level) {
    const keys = ownKeys(value).slice(Math.min(value.length, 100_000)).filter((key) => typeof key === "symbol" || !/^\d+$/.test(key));
    return properties(value, context, level, keys);
}

function properties(value, context, level, keys) {
    return keys.slice(0, inspectLimits.items).map((key) => {
        const property = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key] };
        const name = typeof key === "symbol" ? `[${String(key)}]` : /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? key : quoted(key);
        if (property.get !== undefined) return spent(context, `${name}: [Getter${property.set === undefined ? "" : "/Setter"}]`);
        if (property.set !== undefined) return spent(context, `${name}: [Setter]`);
        return spent(context, `${name}: `) + shown(property.value, context, level);
    });
}

function listed(context, level, open, close, size, items, more = []) {
    if (size > inspectLimits.items) items.push(`... ${size - inspectLimits.items} more item${size - inspectLimits.items === 1 ? "" : "s"}`);
    const all = [...items, ...more];
    if (all.length === 0) return open + close;
    const length = all.reduce((sum, item) => sum + item.length + 2, 0) + 2 * level;
    if (length <= inspectLimits.line && !all.some((item) => item.includes("\n"))) return `${open} ${all.join(", ")} ${close}`;
    const indent = "  ".repeat(level + 1);
    const isShort = size > 6 && open === "[" && all.every((item) => item.length <= 12 && !item.includes("\n"));
    return `${open}\n${isShort ? wrapped(all, indent) : indent + all.join(`,\n${indent}`)}\n${"  ".repeat(level)}${close}`;
}

/** Short items several to a line. */
function wrapped(items, indent) {
    const lines = [];
    let line = indent;
    items.forEach((item, index) => {
        const text = item + (index + 1 < items.length ? "," : "");
        if (line.length + text.length > inspectLimits.line && line !== indent) {
            lines.push(line.trimEnd());
            line = indent;
        }
        line += `${text} `;
    });
    lines.push(line.trimEnd());
    return lines.join("\n");
}

function members(value, context, level, keys, name) {
    if (keys.length === 0 || level > context.depth) return "";
    context.above.push(value);
    const text = listed(context, level, "{", "}", keys.length, properties(value, context, level + 1, keys));
    context.above.pop();
    return ` ${name}${text}`;
}

function shownError(error, context, level, type) {
    const name = String(error.name), message = String(error.message);
    const title = name === type || type === "Error" || type === "HostError" || type === "DOMException" ? name : `${type} (${name})`;
    const stack = typeof error.stack === "string" ? native.frames(error.stack) : "";
    const code = error instanceof HostError ? ` (${error.code})` : "";
    let text = title + (message === "" ? "" : `: ${message}`) + code + (stack === "" || level > 0 ? "" : `\n${stack}`);
    if (level > 0) text = `[${text}]`;
    const keys = Object.keys(error).filter((key) => !(error instanceof HostError && (key === "code" || (key === "details" && Object.keys(error.details ?? {}).length === 0))));
    if (error.cause !== undefined && !keys.includes("cause")) keys.push("cause");
    if (error instanceof AggregateError) keys.push("errors");
    return spent(context, text) + members(error, context, level, keys, "");
}

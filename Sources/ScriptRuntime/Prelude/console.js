// console, as node has it, writing lines to the host.

const debugLevel = 0, infoLevel = 1, warningLevel = 2, errorLevel = 3;
const counts = new Map(), stopwatches = new Map();
let groupIndent = "";
// The worker cuts lines that are too long, and says how much is missing; this only bounds what crosses to it.
const longestLine = 32 * 1024 * 1024;

function write(level, text) {
    const cut = text.length > longestLine ? text.slice(0, longestLine) : text;
    native.log(level, groupIndent === "" ? cut : cut.replace(/^/gm, groupIndent));
}

/** Values side by side, and `%s`, `%d`, `%i`, `%f`, `%j`, `%o`, `%O`, `%c` in a first text. */
function format(values) {
    if (values.length === 1 && typeof values[0] === "string") return values[0];
    let next = 0, text = "";
    if (typeof values[0] === "string") {
        next = 1;
        text = values[0].replace(/%([sdifjoOc%])/g, (all, kind) => {
            if (kind === "%") return "%";
            if (next >= values.length) return all;
            const value = values[next++];
            switch (kind) {
            case "s": return typeof value === "string" ? value : typeof value === "object" && value !== null ? inspect(value, { depth: 0 }) : String(value);
            case "d": return typeof value === "bigint" ? `${value}n` : typeof value === "object" ? "NaN" : String(Number(value));
            case "i": return typeof value === "bigint" ? `${value}n` : typeof value === "object" ? "NaN" : String(Number.parseInt(value, 10));
            case "f": return typeof value === "symbol" ? "NaN" : String(Number.parseFloat(value));
            case "j": return asJSON(value);
            case "o": return inspect(value, { depth: 4 });
            case "O": return inspect(value);
            default: return "";
            }
        });
    }
    const rest = values.slice(next).map((value) => (typeof value === "string" ? value : inspect(value)));
    return next === 0 ? rest.join(" ") : [text, ...rest].join(" ");
}

function asJSON(value) {
    try {
        return JSON.stringify(value) ?? "undefined";
    } catch {
        return "[Circular]";
    }
}

/** Rows as a table of boxes. */
function table(data, columns) {
    if (typeof data !== "object" || data === null) return write(infoLevel, format([data]));
    const isMap = data instanceof Map, list = isMap || data instanceof Set ? [...data] : data;
    const keys = Object.keys(list).slice(0, 1_000);
    const heads = [], rows = [];
    let hasValues = false;
    for (const key of keys) {
        const item = list[key];
        const row = new Map();
        if (typeof item === "object" && item !== null) {
            for (const name of Object.keys(item).slice(0, 50)) {
                if (columns !== undefined && !columns.includes(name)) continue;
                if (!heads.includes(name)) heads.push(name);
                row.set(name, inspect(item[name], { depth: 0 }));
            }
        } else {
            hasValues = true;
            row.set(undefined, inspect(item));
        }
        rows.push([key, row]);
    }
    const names = ["(index)", ...heads, ...(hasValues ? ["Values"] : [])];
    const cells = rows.map(([key, row]) => [key, ...heads.map((head) => row.get(head) ?? ""), ...(hasValues ? [row.get(undefined) ?? ""] : [])]);
    const widths = names.map((name, index) => Math.max(name.length, ...cells.map((cell) => cell[index].length)) + 2);
    const line = (left, middle, right) => left + widths.map((width) => "─".repeat(width)).join(middle) + right;
    const row = (values) => `│${values.map((value, index) => ` ${value.padEnd(widths[index] - 1)}`).join("│")}│`;
    write(infoLevel, [line("┌", "┬", "┐"), row(names), line("├", "┼", "┤"), ...cells.map(row), line("└", "┴", "┘")].join("\n"));
}

function elapsed(label) {
    const started = stopwatches.get(label);
    if (started === undefined) return write(warningLevel, `There is no timer "${label}"`);
    const ms = native.now() - started;
    return `${label}: ${ms >= 1000 ? `${(ms / 1000).toFixed(3)}s` : `${ms.toFixed(3)}ms`}`;
}

const hostConsole = {
    log: (...values) => write(infoLevel, format(values)),
    info: (...values) => write(infoLevel, format(values)),
    debug: (...values) => write(debugLevel, format(values)),
    warn: (...values) => write(warningLevel, format(values)),
    error: (...values) => write(errorLevel, format(values)),
    trace(...values) {
        const error = placed(new Error());
        write(errorLevel, `${["Trace", ...(values.length > 0 ? [format(values)] : [])].join(": ")}\n${native.frames(error.stack)}`);
    },
    dir: (value, options) => write(infoLevel, inspect(value, { depth: options?.depth ?? inspectLimits.depth })),
    assert(condition, ...values) {
        if (!condition) write(errorLevel, values.length > 0 ? `Assertion failed: ${format(values)}` : "Assertion failed");
    },
    table,
    count(label = "default") {
        const count = (counts.get(String(label)) ?? 0) + 1;
        counts.set(String(label), count);
        write(infoLevel, `${label}: ${count}`);
    },
    countReset: (label = "default") => void counts.delete(String(label)),
    time(label = "default") { stopwatches.set(String(label), native.now()); },
    timeLog(label = "default", ...values) {
        const text = elapsed(String(label));
        if (text !== undefined) write(infoLevel, values.length > 0 ? `${text} ${format(values)}` : text);
    },
    timeEnd(label = "default") {
        const text = elapsed(String(label));
        stopwatches.delete(String(label));
        if (text !== undefined) write(infoLevel, text);
    },
    group(...values) {
        if (values.length > 0) write(infoLevel, format(values));
        if (groupIndent.length < 80) groupIndent += "  ";
    },
    groupCollapsed: (...values) => hostConsole.group(...values),
    groupEnd() { groupIndent = groupIndent.slice(2); },
    clear() {},
};

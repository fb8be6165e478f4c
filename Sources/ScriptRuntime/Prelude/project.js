// The project's script: its modules, its `state` and `actions`, and what becomes of its errors.

const modules = new Map();
let capture = () => undefined, mainModule;

function runMain(main, path) {
    mainModule = makeModule(path);
    shared[mainPending] = 1;
    const done = () => {
        mainModule.loaded = true;
        shared[mainPending] = 0;
    };
    const { exports, require } = mainModule;
    const meta = { url: `project:///${path}`, filename: path, dirname: folderOf(path), main: true };
    const hand = (read, getters) => {
        if (read !== null) capture = read;
        if (getters !== undefined) Object.defineProperties(exports, Object.getOwnPropertyDescriptors(getters));
    };
    main(exports, require, mainModule, path, folderOf(path), hand, meta).then(done, (error) => native.uncaught(error));
}

function makeModule(path) {
    const module = { id: path, filename: path, loaded: false, exports: {} };
    hide(module, "require", (request) => required(String(request), path));
    modules.set(path, module);
    return module;
}

function required(request, from) {
    if (!/^\.{1,2}\//.test(request)) {
        throw hostError("script.module_not_found",
            `"${request}" cannot be required: only files of the project can, as "./file.js". For packages use import, which is bundled.`,
            { request });
    }
    const wanted = resolved(request, folderOf(from));
    for (const path of /\.(js|cjs|json)$/.test(wanted) ? [wanted] : [`${wanted}.js`, `${wanted}.json`, `${wanted}/index.js`, wanted]) {
        const known = modules.get(path);
        if (known !== undefined) return known.exports;
        if (/\.[mc]?tsx?$|\.mjs$/.test(path)) {
            throw hostError("script.module_not_found", `"${request}" cannot be required; use import, which is bundled.`, { request });
        }
        const isJSON = path.endsWith(".json");
        const loaded = native.load(path, isJSON);
        if (loaded === undefined) continue;
        const module = makeModule(path);
        try {
            if (isJSON) module.exports = parsedFile(loaded, path);
            else loaded.call(module.exports, module.exports, module.require, module, path, folderOf(path));
        } catch (error) {
            modules.delete(path);
            throw error;
        }
        module.loaded = true;
        return module.exports;
    }
    throw hostError("script.module_not_found", `There is no file "${wanted}" in the project (required by ${from}).`, { request, path: wanted, from });
}

function parsedFile(text, path) {
    try {
        return JSON.parse(text);
    } catch (error) {
        throw new SyntaxError(`${path}: ${error.message}`);
    }
}

function folderOf(path) {
    return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

function resolved(request, folder) {
    const parts = folder === "" ? [] : folder.split("/");
    for (const part of request.split("/")) {
        if (part === "" || part === ".") continue;
        if (part !== "..") parts.push(part);
        else if (parts.pop() === undefined) {
            throw hostError("script.module_not_found", `"${request}" leads out of the project's folder.`, { request });
        }
    }
    return parts.join("/");
}

// MARK: What others ask the script for

/** `state` or `actions`: as declared, assigned or exported. */
function captured(name) {
    let value;
    try {
        value = capture(name);
    } catch {
        // Declared below where the script has not come yet.
    }
    return value ?? mainModule?.exports?.[name] ?? globalThis[name];
}

function readState(id) {
    answer(id, () => captured("state") ?? null);
}

function invokeAction(id, name, text, blobs) {
    const actions = captured("actions");
    const action = Object.hasOwn(Object(actions), name) ? actions[name] : undefined;
    if (typeof action === "function") return answer(id, () => action.call(actions, decode(text, blobs)));
    const known = Object.keys(Object(actions)).filter((key) => typeof actions[key] === "function");
    answer(id, () => {
        throw hostError("script.action_unknown", `The script has no action "${name}".${didYouMean(name, known)}`, { action: name, actions: known });
    });
}

async function answer(id, work) {
    shared[alive]++;
    try {
        const value = await work();
        const text = encode(value === undefined ? null : value);
        native.complete(id, false, text, ...(outgoing === undefined ? [] : [outgoing]));
    } catch (error) {
        const { code, message, details, name, stack } = described(error);
        native.complete(id, true, JSON.stringify({
            code: code ?? "script.failed",
            message: name === "" || code !== undefined ? message : `${name}: ${message}`,
            details: details ?? (stack === undefined ? {} : { stack: native.frames(stack) }),
        }));
    } finally {
        shared[alive]--;
    }
}

// MARK: Errors for the host

function described(error) {
    // Without a prototype: what the script adds to Object.prototype, toJSON for one, is not asked.
    const result = Object.create(null);
    if (!(error instanceof Error)) {
        result.name = "";
        result.message = `${inspect(error, { depth: 1 })} was thrown, which is no Error`;
        return result;
    }
    const text = (key) => part(error, key, (value) => String(value ?? ""));
    [result.name, result.message, result.stack] = [text("name"), text("message") ?? "An error without a message", text("stack")];
    for (const [key, type, name] of [["code", "string"], ["line", "number"], ["column", "number"], ["sourceURL", "string", "file"]]) {
        const value = part(error, key);
        if (typeof value === type) result[name ?? key] = value;
    }
    if (error instanceof HostError) result.details = part(error, "details");
    return result;
}

/** A property of an error, or nothing where it cannot be had. */
function part(error, key, as = (value) => value) {
    try {
        return as(error[key]);
    } catch {
        return undefined;
    }
}

/** The same as text; nothing of the error can make it fail. */
function describe(error) {
    // A lone surrogate is written as an escape, which well-formed text never is.
    const wellFormed = (json) => json.replace(/\\ud[89a-f][0-9a-f]{2}/g, "\\ufffd");
    try {
        const result = described(error);
        try {
            return wellFormed(JSON.stringify(result, (_, value) => (typeof value === "bigint" ? String(value) : value)));
        } catch {
            delete result.details;
            return wellFormed(JSON.stringify(result));
        }
    } catch {
        return '{"name":"","message":"The script threw something that cannot be shown."}';
    }
}

function makeError(text) {
    return fill(trace(), JSON.parse(text));
}

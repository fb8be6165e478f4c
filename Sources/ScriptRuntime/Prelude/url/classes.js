// URL and URLSearchParams, https://url.spec.whatwg.org/#api

class URLSearchParams {
    #list = [];
    #changed = () => {};

    constructor(init = "") {
        if (typeof init === "object" && init !== null || typeof init === "function") {
            if (init[Symbol.iterator] !== undefined && init[Symbol.iterator] !== null) {
                for (const pair of init) {
                    const entry = [...pair];
                    if (entry.length !== 2) throw new TypeError("Each pair of URLSearchParams has a name and a value");
                    this.#list.push(entry.map(wellFormed));
                }
            } else {
                for (const key of Reflect.ownKeys(init)) {
                    if (!Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
                    const name = wellFormed(key), value = wellFormed(init[key]);
                    const known = this.#list.find((entry) => entry[0] === name);
                    if (known === undefined) this.#list.push([name, value]);
                    else known[1] = value;
                }
            }
        } else {
            this.#list = parseForm(wellFormed(init).replace(/^\?/, ""));
        }
    }

    static link(params, query, changed) {
        params.#list = query === null ? [] : parseForm(query);
        if (changed !== undefined) params.#changed = changed;
    }

    get size() { return this.#list.length; }

    append(name, value) {
        this.#list.push([wellFormed(name), wellFormed(value)]);
        this.#changed();
    }

    delete(name, value) {
        const isMeant = matcher(name, value);
        this.#list = this.#list.filter((entry) => !isMeant(entry));
        this.#changed();
    }

    get(name) { return this.#list.find(matcher(name))?.[1] ?? null; }
    getAll(name) { return this.#list.filter(matcher(name)).map((entry) => entry[1]); }
    has(name, value) { return this.#list.some(matcher(name, value)); }

    set(name, value) {
        const isMeant = matcher(name), first = this.#list.find(isMeant);
        if (first === undefined) return this.append(name, value);
        first[1] = wellFormed(value);
        this.#list = this.#list.filter((entry) => entry === first || !isMeant(entry));
        this.#changed();
    }

    sort() {
        this.#list.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
        this.#changed();
    }

    forEach(callback, self) {
        for (let index = 0; index < this.#list.length; index++) callback.call(self, this.#list[index][1], this.#list[index][0], this);
    }

    *entries() { for (let index = 0; index < this.#list.length; index++) yield [...this.#list[index]]; }
    *keys() { for (let index = 0; index < this.#list.length; index++) yield this.#list[index][0]; }
    *values() { for (let index = 0; index < this.#list.length; index++) yield this.#list[index][1]; }
    [Symbol.iterator]() { return this.entries(); }

    toString() {
        const encoded = (text) => percentEncode(text, formSet).replaceAll("%20", "+");
        return this.#list.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");
    }

    get [Symbol.toStringTag]() { return "URLSearchParams"; }
}
const linkParams = URLSearchParams.link;
delete URLSearchParams.link;

function wellFormed(value) {
    return String(value).toWellFormed();
}

function matcher(name, value) {
    const wanted = wellFormed(name), text = value === undefined ? undefined : wellFormed(value);
    return (entry) => entry[0] === wanted && (text === undefined || entry[1] === text);
}

function parseForm(text) {
    const decoded = (part) => decodedText(percentDecode(part.replaceAll("+", " ")));
    return text.split("&").filter((part) => part !== "").map((part) => {
        const cut = part.indexOf("=");
        return cut < 0 ? [decoded(part), ""] : [decoded(part.slice(0, cut)), decoded(part.slice(cut + 1))];
    });
}

class URL {
    #url;
    #params;

    constructor(input, base) {
        const url = URL.#record(input, base);
        if (url === undefined) throw new TypeError(`"${String(input).slice(0, 200)}" is no URL${base === undefined ? "" : ` for the base "${String(base).slice(0, 200)}"`}`);
        this.#url = url;
    }

    static #record(input, base) {
        const text = wellFormed(input);
        if (base === undefined) return parseURL(text);
        const root = parseURL(wellFormed(base));
        return root && parseURL(text, root);
    }

    static canParse(input, base) { return URL.#record(input, base) !== undefined; }

    static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }

    get href() { return this.#url.serialize(); }
    set href(value) {
        const url = parseURL(wellFormed(value));
        if (url === undefined) throw new TypeError(`"${String(value).slice(0, 200)}" is no URL`);
        this.#url = url;
        this.#queryChanged();
    }

    get origin() {
        const url = this.#url;
        if (url.scheme === "blob:") {
            const inner = parseURL(url.pathText);
            return inner?.scheme === "http:" || inner?.scheme === "https:" ? originOf(inner) : "null";
        }
        return originOf(url);
    }

    get protocol() { return this.#url.scheme; }
    set protocol(value) { setPart(this.#url, `${wellFormed(value)}:`, "schemeStart"); }

    get username() { return this.#url.username; }
    set username(value) {
        if (!this.#url.cannotHaveCredentials) this.#url.username = percentEncode(wellFormed(value), userinfoSet);
    }

    get password() { return this.#url.password; }
    set password(value) {
        if (!this.#url.cannotHaveCredentials) this.#url.password = percentEncode(wellFormed(value), userinfoSet);
    }

    get host() { return (this.#url.host ?? "") + (this.#url.port === null ? "" : `:${this.#url.port}`); }
    set host(value) { if (!this.#url.isOpaque) setPart(this.#url, wellFormed(value), "host"); }

    get hostname() { return this.#url.host ?? ""; }
    set hostname(value) { if (!this.#url.isOpaque) setPart(this.#url, wellFormed(value), "hostname"); }

    get port() { return this.#url.port === null ? "" : String(this.#url.port); }
    set port(value) {
        const text = wellFormed(value);
        if (this.#url.cannotHaveCredentials) return;
        if (text === "") this.#url.port = null;
        else setPart(this.#url, text, "port");
    }

    get pathname() { return this.#url.pathText; }
    set pathname(value) {
        if (this.#url.isOpaque) return;
        this.#url.path = [];
        setPart(this.#url, wellFormed(value), "pathStart");
    }

    get search() { return this.#url.query === null || this.#url.query === "" ? "" : `?${this.#url.query}`; }
    set search(value) {
        const text = wellFormed(value);
        if (text === "") {
            this.#url.query = null;
        } else {
            this.#url.query = "";
            setPart(this.#url, text.replace(/^\?/, ""), "query");
        }
        this.#queryChanged();
    }

    get searchParams() {
        if (this.#params === undefined) {
            this.#params = new URLSearchParams();
            linkParams(this.#params, this.#url.query, () => {
                const text = this.#params.toString();
                this.#url.query = text === "" ? null : text;
            });
        }
        return this.#params;
    }

    get hash() { return this.#url.fragment === null || this.#url.fragment === "" ? "" : `#${this.#url.fragment}`; }
    set hash(value) {
        const text = wellFormed(value);
        if (text === "") {
            this.#url.fragment = null;
            return;
        }
        this.#url.fragment = "";
        setPart(this.#url, text.replace(/^#/, ""), "fragment");
    }

    #queryChanged() { if (this.#params !== undefined) linkParams(this.#params, this.#url.query); }

    toString() { return this.href; }
    toJSON() { return this.href; }
    get [Symbol.toStringTag]() { return "URL"; }
}

function originOf(url) {
    if (!isSpecial(url) || url.scheme === "file:") return "null";
    return `${url.scheme}//${url.host}${url.port === null ? "" : `:${url.port}`}`;
}

for (const type of [URL, URLSearchParams]) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(type.prototype))) {
        if (name !== "constructor") Object.defineProperty(type.prototype, name, { ...property, enumerable: true });
    }
}

return { URL, URLSearchParams };

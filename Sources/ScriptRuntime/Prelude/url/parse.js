// The basic URL parser, https://url.spec.whatwg.org/#concept-basic-url-parser: its states, one function each.

const specialPorts = { "ftp:": 21, "file:": null, "http:": 80, "https:": 443, "ws:": 80, "wss:": 443 };
const isSpecial = (url) => Object.hasOwn(specialPorts, url.scheme);
const isDriveLetter = (text) => /^[a-z][:|]$/i.test(text);
const startsWithDrive = (text) => /^[a-z][:|]([/\\?#]|$)/i.test(text);

/** A URL's parts. `path` is a list, or a text where it is opaque; `host` is null where there is none. */
class URLRecord {
    scheme = "";
    username = "";
    password = "";
    host = null;
    port = null;
    path = [];
    query = null;
    fragment = null;

    copy(from, ...names) {
        for (const name of names) this[name] = Array.isArray(from[name]) ? [...from[name]] : from[name];
    }

    get isOpaque() { return typeof this.path === "string"; }
    get cannotHaveCredentials() { return this.host === null || this.host === "" || this.scheme === "file:"; }

    shorten() {
        if (this.scheme === "file:" && this.path.length === 1 && /^[a-z]:$/i.test(this.path[0])) return;
        this.path.pop();
    }

    get pathText() { return this.isOpaque ? this.path : this.path.map((part) => `/${part}`).join(""); }

    serialize(withoutFragment = false) {
        let text = this.scheme;
        if (this.host !== null) {
            text += "//";
            if (this.username !== "" || this.password !== "") text += `${this.username}${this.password === "" ? "" : `:${this.password}`}@`;
            text += this.host + (this.port === null ? "" : `:${this.port}`);
        } else if (!this.isOpaque && this.path.length > 1 && this.path[0] === "") {
            text += "/.";
        }
        text += this.pathText + (this.query === null ? "" : `?${this.query}`);
        return withoutFragment || this.fragment === null ? text : `${text}#${this.fragment}`;
    }
}

/** The record, or undefined where the text is no URL. */
function parseURL(input, base) {
    const url = new URLRecord(), text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
    return new URLParser(text, base, url).run("schemeStart") ? url : undefined;
}

/** Sets a part of `url`, as its setters do; what does not fit changes nothing more. */
function setPart(url, input, state) {
    new URLParser(input.replace(/[\t\n\r]/g, ""), undefined, url, state).run(state);
}

class URLParser {
    constructor(text, base, url, override) {
        this.points = Array.from(text);
        Object.assign(this, { base, url, override, at: 0, buffer: "", sawAt: false, sawPassword: false, inBrackets: false, state: "" });
    }

    /** True where the text was taken. */
    run(state) {
        this.state = state;
        for (; this.at <= this.points.length; this.at++) {
            const result = this[this.state](this.points[this.at]);
            if (result !== undefined) return result;
        }
        return true;
    }

    next(state) { this.state = state; }

    /** Looks at the same character again, in another state. */
    again(state) {
        this.state = state;
        this.at--;
    }

    rest(offset = 1) { return this.points.slice(this.at + offset, this.at + offset + 3).join(""); }

    isEnd(c) { return c === undefined || c === "/" || c === "?" || c === "#" || (isSpecial(this.url) && c === "\\"); }

    schemeStart(c) {
        if (c !== undefined && /[a-z]/i.test(c)) {
            this.buffer += c.toLowerCase();
            this.next("scheme");
        } else if (this.override === undefined) {
            this.again("noScheme");
        } else {
            return false;
        }
    }

    scheme(c) {
        const { url, override } = this;
        if (c !== undefined && /[a-z0-9+.-]/i.test(c)) {
            this.buffer += c.toLowerCase();
        } else if (c === ":") {
            const scheme = `${this.buffer}:`;
            if (override !== undefined) {
                if (isSpecial(url) !== Object.hasOwn(specialPorts, scheme)) return false;
                if (scheme === "file:" && (url.username !== "" || url.password !== "" || url.port !== null)) return false;
                if (url.scheme === "file:" && url.host === "") return false;
            }
            url.scheme = scheme;
            if (override !== undefined) {
                if (url.port === specialPorts[scheme]) url.port = null;
                return true;
            }
            this.buffer = "";
            if (scheme === "file:") this.next("file");
            else if (isSpecial(url)) this.next(this.base?.scheme === scheme ? "specialRelativeOrAuthority" : "specialAuthoritySlashes");
            else if (this.points[this.at + 1] === "/") {
                this.next("pathOrAuthority");
                this.at++;
            } else {
                url.path = "";
                this.next("opaquePath");
            }
        } else if (override === undefined) {
            this.buffer = "";
            this.at = -1;
            this.next("noScheme");
        } else {
            return false;
        }
    }

    noScheme(c) {
        const { base, url } = this;
        if (base === undefined || (base.isOpaque && c !== "#")) return false;
        if (base.isOpaque) {
            url.copy(base, "scheme", "path", "query");
            url.fragment = "";
            this.next("fragment");
        } else {
            this.again(base.scheme === "file:" ? "file" : "relative");
        }
    }

    specialRelativeOrAuthority(c) {
        if (c !== "/" || this.points[this.at + 1] !== "/") return this.again("relative");
        this.next("specialAuthorityIgnoreSlashes");
        this.at++;
    }

    pathOrAuthority(c) {
        if (c === "/") this.next("authority");
        else this.again("path");
    }

    relative(c) {
        const { base, url } = this;
        url.scheme = base.scheme;
        if (c === "/" || (isSpecial(url) && c === "\\")) return this.next("relativeSlash");
        url.copy(base, "username", "password", "host", "port", "path", "query");
        this.afterBase(c, "path");
    }

    /** What follows what was taken from the base: a query, a fragment, or a path that replaces the last part. */
    afterBase(c, state, keepPath) {
        const { url } = this;
        if (c === "?") {
            url.query = "";
            this.next("query");
        } else if (c === "#") {
            url.fragment = "";
            this.next("fragment");
        } else if (c !== undefined) {
            url.query = null;
            if (keepPath === undefined) url.shorten();
            else if (!keepPath) url.path = [];
            this.again(state);
        }
    }

    relativeSlash(c) {
        if (isSpecial(this.url) && (c === "/" || c === "\\")) return this.next("specialAuthorityIgnoreSlashes");
        if (c === "/") return this.next("authority");
        this.url.copy(this.base, "username", "password", "host", "port");
        this.again("path");
    }

    specialAuthoritySlashes(c) {
        if (c !== "/" || this.points[this.at + 1] !== "/") return this.again("specialAuthorityIgnoreSlashes");
        this.next("specialAuthorityIgnoreSlashes");
        this.at++;
    }

    specialAuthorityIgnoreSlashes(c) {
        if (c !== "/" && c !== "\\") this.again("authority");
    }

    authority(c) {
        const { url } = this;
        if (c === "@") {
            const text = this.sawAt ? `%40${this.buffer}` : this.buffer;
            this.sawAt = true;
            for (const character of text) {
                if (character === ":" && !this.sawPassword) this.sawPassword = true;
                else url[this.sawPassword ? "password" : "username"] += percentEncode(character, userinfoSet);
            }
            this.buffer = "";
        } else if (this.isEnd(c)) {
            if (this.sawAt && this.buffer === "") return false;
            this.at -= Array.from(this.buffer).length + 1;
            this.buffer = "";
            this.next("host");
        } else {
            this.buffer += c;
        }
    }

    hostname(c) { return this.host(c); }

    host(c) {
        const { url, override } = this;
        if (override !== undefined && url.scheme === "file:") return this.again("fileHost");
        if (c === ":" && !this.inBrackets) {
            if (this.buffer === "" || override === "hostname") return false;
            if (!this.takeHost()) return false;
            this.next("port");
        } else if (this.isEnd(c)) {
            this.at--;
            if (isSpecial(url) && this.buffer === "") return false;
            if (override !== undefined && this.buffer === "" && (url.username !== "" || url.password !== "" || url.port !== null)) return false;
            if (!this.takeHost()) return false;
            this.next("pathStart");
            if (override !== undefined) return true;
        } else {
            if (c === "[") this.inBrackets = true;
            if (c === "]") this.inBrackets = false;
            this.buffer += c;
        }
    }

    takeHost() {
        const host = parseHost(this.buffer, !isSpecial(this.url));
        if (host === undefined) return false;
        this.url.host = host;
        this.buffer = "";
        return true;
    }

    port(c) {
        const { url, override } = this;
        if (c !== undefined && /\d/.test(c)) {
            this.buffer += c;
        } else if (this.isEnd(c) || override !== undefined) {
            if (this.buffer !== "") {
                const port = Number(this.buffer);
                if (port > 65535) return false;
                url.port = port === specialPorts[url.scheme] ? null : port;
                this.buffer = "";
                if (override !== undefined) return true;
            }
            if (override !== undefined) return false;
            this.again("pathStart");
        } else {
            return false;
        }
    }

    file(c) {
        const { base, url } = this;
        url.scheme = "file:";
        url.host = "";
        if (c === "/" || c === "\\") return this.next("fileSlash");
        if (base?.scheme !== "file:") return this.again("path");
        url.copy(base, "host", "path", "query");
        if (c === "?" || c === "#" || c === undefined) return this.afterBase(c, "path");
        this.afterBase(c, "path", startsWithDrive(this.rest(0)) ? false : undefined);
    }

    fileSlash(c) {
        const { base, url } = this;
        if (c === "/" || c === "\\") return this.next("fileHost");
        if (base?.scheme === "file:") {
            url.host = base.host;
            if (!startsWithDrive(this.rest(0)) && /^[a-z]:$/i.test(base.path[0] ?? "")) url.path.push(base.path[0]);
        }
        this.again("path");
    }

    fileHost(c) {
        const { url, override } = this;
        if (!(c === undefined || c === "/" || c === "\\" || c === "?" || c === "#")) {
            this.buffer += c;
            return undefined;
        }
        this.at--;
        if (override === undefined && isDriveLetter(this.buffer)) return this.next("path");
        if (this.buffer === "") {
            url.host = "";
            if (override !== undefined) return true;
            return this.next("pathStart");
        }
        const host = parseHost(this.buffer, false);
        if (host === undefined) return false;
        url.host = host === "localhost" ? "" : host;
        if (override !== undefined) return true;
        this.buffer = "";
        this.next("pathStart");
    }

    pathStart(c) {
        const { url, override } = this;
        if (isSpecial(url)) {
            this.next("path");
            if (c !== "/" && c !== "\\") this.at--;
        } else if (override === undefined && (c === "?" || c === "#")) {
            url[c === "?" ? "query" : "fragment"] = "";
            this.next(c === "?" ? "query" : "fragment");
        } else if (c !== undefined) {
            this.next("path");
            if (c !== "/") this.at--;
        } else if (override !== undefined && url.host === null) {
            url.path.push("");
        }
    }

    path(c) {
        const { url, override } = this;
        const isSlash = c === "/" || (isSpecial(url) && c === "\\");
        if (!(c === undefined || isSlash || (override === undefined && (c === "?" || c === "#")))) {
            this.buffer += percentEncode(c, pathSet);
            return undefined;
        }
        if (/^(\.|%2e){2}$/i.test(this.buffer)) {
            url.shorten();
            if (!isSlash) url.path.push("");
        } else if (/^(\.|%2e)$/i.test(this.buffer)) {
            if (!isSlash) url.path.push("");
        } else {
            if (url.scheme === "file:" && url.path.length === 0 && isDriveLetter(this.buffer)) this.buffer = `${this.buffer[0]}:`;
            url.path.push(this.buffer);
        }
        this.buffer = "";
        if (c === "?" || c === "#") {
            url[c === "?" ? "query" : "fragment"] = "";
            this.next(c === "?" ? "query" : "fragment");
        }
    }

    opaquePath(c) {
        const { url } = this;
        if (c === "?" || c === "#") {
            url[c === "?" ? "query" : "fragment"] = "";
            this.next(c === "?" ? "query" : "fragment");
        } else if (c === " ") {
            const after = this.points[this.at + 1];
            url.path += after === "?" || after === "#" ? "%20" : " ";
        } else if (c !== undefined) {
            url.path += percentEncode(c, controlSet);
        }
    }

    query(c) {
        const { url } = this;
        if (c === undefined || (this.override === undefined && c === "#")) {
            url.query += percentEncode(this.buffer, isSpecial(url) ? specialQuerySet : querySet);
            this.buffer = "";
            if (c === "#") {
                url.fragment = "";
                this.next("fragment");
            }
        } else {
            this.buffer += c;
        }
    }

    fragment(c) {
        if (c !== undefined) this.url.fragment += percentEncode(c, fragmentSet);
    }
}

// TextEncoder and TextDecoder for UTF-8, atob and btoa.

class TextEncoder {
    get encoding() { return "utf-8"; }

    encode(text = "") { return native.encodeText(String(text).toWellFormed()); }

    encodeInto(text, target) {
        if (!(target instanceof Uint8Array)) throw new TypeError("encodeInto needs a Uint8Array");
        let read = 0, written = 0;
        for (const character of String(text).toWellFormed()) {
            const bytes = native.encodeText(character);
            if (written + bytes.length > target.length) break;
            target.set(bytes, written);
            written += bytes.length;
            read += character.length;
        }
        return { read, written };
    }
}

class TextDecoder {
    #fatal;
    #ignoreBOM;
    #rest = new Uint8Array(0);
    #isStarted = false;

    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
        if (!/^(unicode-1-1-utf-8|unicode11utf8|unicode20utf8|utf-?8|x-unicode20utf8)$/i.test(String(label).trim())) {
            throw new RangeError(`TextDecoder knows utf-8 only, not ${label}`);
        }
        this.#fatal = Boolean(fatal);
        this.#ignoreBOM = Boolean(ignoreBOM);
    }

    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }

    decode(input = new Uint8Array(0), { stream = false } = {}) {
        let bytes = bytesOf(input);
        if (this.#rest.length > 0) {
            const joined = new Uint8Array(this.#rest.length + bytes.length);
            joined.set(this.#rest);
            joined.set(bytes, this.#rest.length);
            bytes = joined;
        }
        const end = stream ? bytes.length - unfinished(bytes) : bytes.length;
        this.#rest = bytes.slice(end);
        let text = native.decodeText(bytes.subarray(0, end), this.#fatal);
        if (text === undefined) {
            this.#rest = new Uint8Array(0);
            this.#isStarted = false;
            throw new TypeError("The data is not valid UTF-8");
        }
        if (!this.#isStarted && !this.#ignoreBOM && text.charCodeAt(0) === 0xFEFF) text = text.slice(1);
        this.#isStarted = stream && (this.#isStarted || end > 0);
        return text;
    }
}

function bytesOf(value) {
    if (value instanceof Uint8Array) return value;
    if (value instanceof ArrayBuffer) return new Uint8Array(value);
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    throw new TypeError(`An ArrayBuffer or a view of one is needed, not ${kindOf(value)}`);
}

/** How many bytes at the end begin a character that is not complete yet. */
function unfinished(bytes) {
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
        const byte = bytes[bytes.length - back];
        if ((byte & 0xC0) === 0x80) continue;
        const length = byte >= 0xF0 && byte <= 0xF4 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
        return byte > 0xF4 || back >= length ? 0 : native.decodeText(bytes.subarray(bytes.length - back), false).length === 1 ? back : 0;
    }
    return 0;
}

function btoa(text) {
    const bytes = Uint8Array.from(String(text), (character) => {
        const code = character.charCodeAt(0);
        if (code > 255 || character.length > 1) throw new DOMException("btoa takes characters up to U+00FF only", "InvalidCharacterError");
        return code;
    });
    return bytes.toBase64();
}

function atob(text) {
    const clean = String(text).replace(/[\t\n\f\r ]/g, "");
    try {
        const padded = clean.length % 4 === 0 ? clean.replace(/={1,2}$/, "") : clean;
        if (/[^A-Za-z0-9+/]/.test(padded) || padded.length % 4 === 1) throw undefined;
        let result = "";
        for (const byte of Uint8Array.fromBase64(padded)) result += String.fromCharCode(byte);
        return result;
    } catch {
        throw new DOMException("The text is not Base64", "InvalidCharacterError");
    }
}

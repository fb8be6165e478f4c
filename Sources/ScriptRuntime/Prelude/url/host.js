// Hosts of the URL standard, https://url.spec.whatwg.org/#host-parsing: undefined where there is none.

const forbiddenInHost = /[\0\t\n\r #/:<>?@[\\\]^|]/, forbiddenInDomain = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;

/** The host in its serialized form. */
function parseHost(input, isOpaque) {
    if (input.startsWith("[")) {
        const address = input.endsWith("]") ? parseIPv6(input.slice(1, -1)) : undefined;
        return address && `[${serializeIPv6(address)}]`;
    }
    if (isOpaque) return forbiddenInHost.test(input) ? undefined : percentEncode(input, controlSet);
    const domain = toASCII(decodedText(percentDecode(input)));
    if (domain === undefined || domain === "" || forbiddenInDomain.test(domain)) return undefined;
    return endsInNumber(domain) ? parseIPv4(domain) : domain;
}

function endsInNumber(domain) {
    const parts = domain.split(".");
    if (parts.at(-1) === "") {
        if (parts.length === 1) return false;
        parts.pop();
    }
    return /^\d+$/.test(parts.at(-1)) || parseIPv4Number(parts.at(-1)) !== undefined;
}

function parseIPv4Number(text) {
    if (text === "") return undefined;
    if (/^0x[\da-f]*$/i.test(text)) return text.length === 2 ? 0 : Number(text);
    if (/^0[0-7]*$/.test(text)) return Number.parseInt(text, 8);
    return /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

function parseIPv4(domain) {
    const parts = domain.split(".");
    if (parts.at(-1) === "" && parts.length > 1) parts.pop();
    const numbers = parts.map(parseIPv4Number);
    if (parts.length > 4 || numbers.includes(undefined)) return undefined;
    const last = numbers.pop();
    if (numbers.some((number) => number > 255) || last >= 256 ** (4 - numbers.length)) return undefined;
    const value = numbers.reduce((sum, number, index) => sum + number * 256 ** (3 - index), last);
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

function parseIPv6(text) {
    const address = [];
    let compress = -1, at = 0;
    if (text[0] === ":") {
        if (text[1] !== ":") return undefined;
        at = 2;
        compress = 0;
    }
    while (at < text.length) {
        if (address.length === 8) return undefined;
        if (text[at] === ":") {
            if (compress >= 0) return undefined;
            at++;
            compress = address.length;
            continue;
        }
        const piece = /^[\da-f]{0,4}/i.exec(text.slice(at))[0];
        if (text[at + piece.length] === ".") {
            const tail = piece === "" || address.length > 6 ? undefined : parseTail(text.slice(at));
            if (tail === undefined) return undefined;
            address.push(...tail);
            break;
        }
        if (piece === "" && text[at] !== ":") return undefined;
        at += piece.length;
        if (text[at] === ":") {
            at++;
            if (at === text.length) return undefined;
        } else if (at < text.length) {
            return undefined;
        }
        address.push(Number.parseInt(piece, 16));
    }
    if (compress >= 0) {
        if (address.length === 8) return undefined;
        address.splice(compress, 0, ...new Array(8 - address.length).fill(0));
    }
    return address.length === 8 ? address : undefined;
}

/** The last two pieces of an IPv6 address, written as IPv4. */
function parseTail(text) {
    const parts = text.split(".");
    if (parts.length !== 4 || parts.some((part) => !/^(0|[1-9]\d{0,2})$/.test(part) || part > 255)) return undefined;
    return [parts[0] * 256 + Number(parts[1]), parts[2] * 256 + Number(parts[3])];
}

function serializeIPv6(address) {
    let start = -1, longest = 1;
    for (let index = 0; index < 8; index++) {
        let end = index;
        while (end < 8 && address[end] === 0) end++;
        if (end - index > longest) [start, longest] = [index, end - index];
        index = Math.max(index, end - 1);
    }
    const pieces = address.map((piece) => piece.toString(16));
    if (start < 0) return pieces.join(":");
    return `${pieces.slice(0, start).join(":")}::${pieces.slice(start + longest).join(":")}`;
}

// MARK: Names beyond ASCII, https://www.unicode.org/reports/tr46/ without the transitional forms.
// The mapping is that of NFKC and lower case, which differs from the report's table for a few rare characters.

const ignoredInNames = /[\u00ad\u034f\u180b-\u180f\u200b\u2060\u2064\ufe00-\ufe0f\ufeff\u{e0100}-\u{e01ef}]/gu;

function toASCII(domain) {
    if (/^[\0-\x7f]*$/.test(domain)) {
        const lower = domain.toLowerCase();
        if (!/(^|\.)xn--/.test(lower)) return lower;
    }
    const lowered = (text) => Array.from(text, (character) => (character === "ẞ" ? "ß" : character.toLowerCase())).join("");
    const mapped = lowered(lowered(domain.replace(ignoredInNames, "")).normalize("NFKC")).normalize("NFC").replace(/[。．｡]/g, ".");
    const labels = mapped.split(".").map(asciiLabel);
    return labels.includes(undefined) ? undefined : labels.join(".");
}

function asciiLabel(label) {
    if (label.startsWith("xn--")) {
        const decoded = decodePunycode(label.slice(4));
        const isRight = decoded !== undefined && !/^[\0-\x7f]*$/.test(decoded) && isLabel(decoded) && decoded.normalize("NFC") === decoded
            && !/\p{Lu}/u.test(decoded);
        return isRight ? label : undefined;
    }
    if (/^[\0-\x7f]*$/.test(label)) return label;
    if (!isLabel(label)) return undefined;
    const encoded = encodePunycode(label);
    return encoded === undefined ? undefined : `xn--${encoded}`;
}

function isLabel(label) {
    if (/^\p{M}/u.test(label) || /[\p{Cn}\p{Co}\p{Cs}\p{Cc}\p{Zs}\p{Zl}\p{Zp}\ufffd\u2ff0-\u2fff]/u.test(label)) return false;
    // Joiners stand after a virama only (the cursive scripts' other rule needs tables that are not here).
    for (const { index } of label.matchAll(/\u200d|\u200c/gu)) {
        if (!/[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u17d2]$/.test(label.slice(0, index))) {
            if (label[index] === "\u200d" || !/\p{Script=Arabic}$/u.test(label.slice(0, index))) return false;
        }
    }
    return true;
}

const firstCode = 128, firstBias = 72;

function adapt(delta, count, isFirst) {
    delta = isFirst ? Math.floor(delta / 700) : delta >> 1;
    delta += Math.floor(delta / count);
    let k = 0;
    for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
    return k + Math.floor((36 * delta) / (delta + 38));
}

function encodePunycode(text) {
    const points = Array.from(text, (character) => character.codePointAt(0));
    let result = points.filter((point) => point < 128).map((point) => String.fromCharCode(point)).join("");
    const basic = result.length;
    let handled = basic, n = firstCode, delta = 0, bias = firstBias;
    if (basic > 0) result += "-";
    const digit = (value) => String.fromCharCode(value < 26 ? 97 + value : 22 + value);
    while (handled < points.length) {
        const next = Math.min(...points.filter((point) => point >= n));
        delta += (next - n) * (handled + 1);
        if (delta > 0x7fffffff) return undefined;
        n = next;
        for (const point of points) {
            if (point < n) delta++;
            if (point !== n) continue;
            let q = delta;
            for (let k = 36; ; k += 36) {
                const t = Math.min(Math.max(k - bias, 1), 26);
                if (q < t) break;
                result += digit(t + ((q - t) % (36 - t)));
                q = Math.floor((q - t) / (36 - t));
            }
            result += digit(q);
            bias = adapt(delta, handled + 1, handled === basic);
            delta = 0;
            handled++;
        }
        delta++;
        n++;
    }
    return result;
}

function decodePunycode(text) {
    if (!/^[a-z0-9-]*$/.test(text)) return undefined;
    const cut = text.lastIndexOf("-");
    const result = Array.from(cut > 0 ? text.slice(0, cut) : "", (character) => character.charCodeAt(0));
    let n = firstCode, i = 0, bias = firstBias;
    for (let at = cut > 0 ? cut + 1 : 0; at < text.length;) {
        const before = i;
        for (let weight = 1, k = 36; ; k += 36) {
            if (at >= text.length) return undefined;
            const code = text.charCodeAt(at++);
            const digit = code >= 97 ? code - 97 : code >= 48 && code <= 57 ? code - 22 : 36;
            if (digit >= 36) return undefined;
            i += digit * weight;
            if (i > 0x7fffffff) return undefined;
            const t = Math.min(Math.max(k - bias, 1), 26);
            if (digit < t) break;
            weight *= 36 - t;
        }
        bias = adapt(i - before, result.length + 1, before === 0);
        n += Math.floor(i / (result.length + 1));
        i %= result.length + 1;
        if (n > 0x10ffff) return undefined;
        result.splice(i++, 0, n);
    }
    return String.fromCodePoint(...result);
}

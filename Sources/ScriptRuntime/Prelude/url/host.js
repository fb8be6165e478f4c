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

/** The name in lower case and Punycode, https://url.spec.whatwg.org/#concept-domain-to-ascii; undefined for none. */
function toASCII(domain) {
    if (/^[\0-\x7f]*$/.test(domain)) {
        const lower = domain.toLowerCase();
        if (!/(^|\.)xn--/.test(lower)) return lower;
    }
    return native.domainToASCII(domain);
}

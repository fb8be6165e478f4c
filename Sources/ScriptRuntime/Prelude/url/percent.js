// Percent-encoding of the URL standard, https://url.spec.whatwg.org/#percent-encoded-bytes

/** Whether a character of ASCII is in a set; what is no ASCII or a control always is. */
function percentSet(characters) {
    const members = new Set(characters);
    return (character) => character > "~" || character < " " || members.has(character);
}

const controlSet = percentSet("");
const fragmentSet = percentSet(" \"<>`");
const querySet = percentSet(" \"#<>");
const specialQuerySet = percentSet(" \"#<>'");
const pathSet = percentSet(" \"#<>?^`{}");
const userinfoSet = percentSet(" \"#<>?^`{}/:;=@[\\]|");
const formSet = percentSet(" \"#<>?^`{}/:;=@[\\]|$%&+,!'()~");

function percentEncode(text, set) {
    let result = "";
    for (const character of text) result += set(character) ? encodedBytes(character) : character;
    return result;
}

function encodedBytes(character) {
    let result = "";
    for (const byte of native.encodeText(character)) result += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    return result;
}

function percentDecode(text) {
    const bytes = native.encodeText(text), result = [];
    for (let index = 0; index < bytes.length; index++) {
        const value = bytes[index] === 0x25 ? hexPair(bytes[index + 1], bytes[index + 2]) : -1;
        result.push(value < 0 ? bytes[index] : value);
        if (value >= 0) index += 2;
    }
    return new Uint8Array(result);
}

function hexPair(high, low) {
    const one = hexDigit(high), other = hexDigit(low);
    return one < 0 || other < 0 ? -1 : one * 16 + other;
}

function hexDigit(byte) {
    if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
    const letter = byte | 0x20;
    return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** UTF-8 without a byte order mark being taken for one. */
function decodedText(bytes) {
    return native.decodeText(bytes, false);
}

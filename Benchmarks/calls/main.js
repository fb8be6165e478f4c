const { sample, oneAtATime, hundredAtOnce } = require("./measure.js");

const { crypto } = host;
const kilobyte = new Uint8Array(1024).fill(97), text = "a".repeat(1024);

console.log(JSON.stringify({
    inline: await sample(40, 2500, oneAtATime(() => crypto.urlEncode("a"))),
    hop: await sample(40, 500, oneAtATime(() => crypto.sha256({ text: "a" }))),
    hop100: await sample(40, 1000, hundredAtOnce(() => crypto.sha256({ text: "a" }))),
    digest: await sample(40, 500, oneAtATime(() => crypto.sha256({ base64: kilobyte, encoding: "bytes" }))),
    digestText: await sample(40, 500, oneAtATime(() => crypto.sha256({ text }))),
}));

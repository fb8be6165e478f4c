const { sample, oneAtATime, hundredAtOnce } = require("./measure.js");

const { crypto, hop } = host;
const kilobyte = new Uint8Array(1024).fill(97), text = "a".repeat(1024), large = new Uint8Array(65536).fill(97);

console.log(JSON.stringify({
    inline: await sample(40, 2500, oneAtATime(() => crypto.urlEncode("a"))),
    hop: await sample(40, 500, oneAtATime(() => hop.getppid())),
    hop100: await sample(40, 1000, hundredAtOnce(() => hop.getppid())),
    digest: await sample(40, 500, oneAtATime(() => crypto.sha256({ base64: kilobyte, encoding: "bytes" }))),
    digestText: await sample(40, 500, oneAtATime(() => crypto.sha256({ text }))),
    digestLarge: await sample(40, 200, oneAtATime(() => crypto.sha256({ base64: large, encoding: "bytes" }))),
}));

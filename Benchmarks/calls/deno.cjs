const { sample, oneAtATime, hundredAtOnce } = require("./measure.js");

const kilobyte = new Uint8Array(1024).fill(97), text = "a".repeat(1024), large = new Uint8Array(65536).fill(97);
const library = Deno.dlopen("libc.so.6", { getppid: { parameters: [], result: "i32", nonblocking: true } });
const call = () => library.symbols.getppid();
const digest = () => crypto.subtle.digest("SHA-256", kilobyte);
const hex = async () => new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();

(async () => {
    console.log(JSON.stringify({
        inline: await sample(40, 500, oneAtATime(call)),
        hop: await sample(40, 500, oneAtATime(call)),
        hop100: await sample(40, 1000, hundredAtOnce(call)),
        digest: await sample(40, 500, oneAtATime(digest)),
        digestText: await sample(40, 500, oneAtATime(hex)),
        digestLarge: await sample(40, 200, oneAtATime(() => crypto.subtle.digest("SHA-256", large))),
    }));
    library.close();
})();

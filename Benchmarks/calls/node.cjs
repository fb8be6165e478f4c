const { webcrypto } = require("node:crypto");
const { access } = require("node:fs/promises");
const { sample, oneAtATime, hundredAtOnce } = require("./measure.js");

const kilobyte = new Uint8Array(1024).fill(97);
const call = () => access("/tmp");

(async () => {
    console.log(JSON.stringify({
        hop: await sample(40, 500, oneAtATime(call)),
        hop100: await sample(40, 1000, hundredAtOnce(call)),
        digest: await sample(40, 500, oneAtATime(() => webcrypto.subtle.digest("SHA-256", kilobyte))),
    }));
})();

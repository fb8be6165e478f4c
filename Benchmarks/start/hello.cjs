const { arch, release, type } = require("node:os");
console.log(`Hello from ${type()} ${release()} on ${arch()}.`);

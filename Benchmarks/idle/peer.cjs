const { release } = require("node:os");
console.log(release());
setTimeout(() => {}, 10_000);

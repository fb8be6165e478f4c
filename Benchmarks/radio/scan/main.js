// The number of advertisements so far: at the first one, and once a second.
let count = 0;
console.log("scan");
const scan = await host.bluetooth.scan({ durationMs: 0, allowDuplicates: true }, ({ type }) => {
    if (type === "device" && ++count === 1) console.log(count);
});
setInterval(() => console.log(count), 1000);

// Both sides use this: microseconds a call, one sample for every `size` calls, after some to warm up.

async function sample(samples, size, body) {
    for (let index = 0; index < 3; index++) await body(size);
    const times = [];
    for (let index = 0; index < samples; index++) {
        const start = performance.now();
        await body(size);
        times.push((performance.now() - start) * 1000 / size);
    }
    return times;
}

const oneAtATime = (call) => async (count) => {
    for (let index = 0; index < count; index++) await call();
};

const hundredAtOnce = (call) => async (count) => {
    for (let done = 0; done < count; done += 100) await Promise.all(Array.from({ length: 100 }, call));
};

module.exports = { sample, oneAtATime, hundredAtOnce };

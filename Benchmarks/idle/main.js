console.log((await host.device.info()).systemName);
setTimeout(() => {}, 10_000);

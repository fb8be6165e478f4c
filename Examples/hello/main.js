const { systemName, systemVersion, architecture } = await host.device.info();
console.log(`Hello from ${systemName} ${systemVersion} on ${architecture}.`);

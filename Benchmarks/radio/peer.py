"""What scan/main.js does, with bleak."""
import asyncio
from bleak import BleakScanner

count = 0


def seen(device, advertisement):
    global count
    count += 1
    if count == 1:
        print(count, flush=True)


async def main():
    async with BleakScanner(seen):
        while True:
            await asyncio.sleep(1)
            print(count, flush=True)


asyncio.run(main())

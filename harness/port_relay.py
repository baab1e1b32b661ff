"""Carries TCP connections from one address to another, port by port: a program for both ends of a cable
(harness/apart.py).

usage: port_relay.py LISTEN_ADDRESS=TARGET_ADDRESS:PORT,PORT,... ...

Prints "ready" once it listens everywhere.
"""

import asyncio
import contextlib
import sys

PIECE_BYTES = 64 << 10


async def carry(reader, writer):
    with contextlib.suppress(OSError):
        while data := await reader.read(PIECE_BYTES):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
            return
    writer.close()


def server(target, port):
    async def serve(reader, writer):
        try:
            upstream = await asyncio.open_connection(target, port)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(carry(reader, upstream[1]), carry(upstream[0], writer))
        for one in (upstream[1], writer):
            one.close()
    return serve


async def main(rules):
    servers = []
    for rule in rules:
        addresses, _, ports = rule.partition(":")
        listen, _, target = addresses.partition("=")
        for port in map(int, filter(None, ports.split(","))):
            servers.append(await asyncio.start_server(server(target, port), listen, port, reuse_address=True))
    print("ready", flush=True)
    await asyncio.gather(*(each.serve_forever() for each in servers))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))

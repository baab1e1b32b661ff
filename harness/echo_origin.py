"""An origin, at as many ports as it is told, that switches to another protocol when it is asked to, and
then sends back what it gets. Anything else is answered 426."""

import argparse
import asyncio
import contextlib

SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
REFUSED = b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n"
PIECE_BYTES = 64 << 10


async def serve(reader, writer):
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        head = await reader.readuntil(b"\r\n\r\n")
        switches = b"\r\nupgrade: echo\r\n" in head.lower()
        writer.write(SWITCHED if switches else REFUSED)
        while switches and (data := await reader.read(PIECE_BYTES)):
            writer.write(data)
            await writer.drain()
    writer.close()


async def run(ports):
    servers = [await asyncio.start_server(serve, "127.0.0.1", port) for port in ports]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ports", type=int, nargs="+")
    asyncio.run(run(parser.parse_args().ports))


if __name__ == "__main__":
    main()

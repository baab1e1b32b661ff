"""Stands in front of an origin and spoils what it answers, as a control file says at the time:

pass     nothing                          lie      one byte of each piece is another
slow     a little at a time               cut      half of each piece, and the connection ends
garbage  something that is not HTTP       reset    connections end before an answer
stall    nothing comes any more

Each piece that it spoils adds a byte to the file CONTROL.count.
"""

import argparse
import asyncio
import contextlib
from pathlib import Path

MODES = ("pass", "slow", "garbage", "stall", "lie", "cut", "reset")
PIECE_BYTES = 64 << 10
SLOW_BYTES = 512
SLOW_S = 0.02


class Relay:
    def __init__(self, origin_port, control):
        self._origin_port = origin_port
        self._control = Path(control)
        self._count = open(f"{control}.count", "ab", buffering=0)  # pylint: disable=consider-using-with

    def _mode(self):
        mode = self._control.read_text().strip()
        return mode if mode in MODES else "pass"

    async def serve(self, reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            upstream = await asyncio.open_connection("127.0.0.1", self._origin_port)
            try:
                await asyncio.gather(self._requests(reader, upstream[1]),
                                     self._answers(upstream[0], writer))
            finally:
                upstream[1].close()
        writer.close()

    @staticmethod
    async def _requests(reader, writer):
        while data := await reader.read(PIECE_BYTES):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def _answers(self, reader, writer):
        while data := await reader.read(PIECE_BYTES):
            mode = self._mode()
            if mode != "pass":
                self._count.write(b".")
            await getattr(self, f"_{mode}")(writer, data)
            await writer.drain()
        writer.close()

    @staticmethod
    async def _pass(writer, data):
        writer.write(data)

    @staticmethod
    async def _slow(writer, data):
        for begin in range(0, len(data), SLOW_BYTES):
            writer.write(data[begin:begin + SLOW_BYTES])
            await asyncio.sleep(SLOW_S)

    @staticmethod
    async def _garbage(writer, data):
        writer.write(b"\x00garbage\r\n" + data)

    @staticmethod
    async def _stall(_writer, _data):
        await asyncio.sleep(3600)

    @staticmethod
    async def _lie(writer, data):
        place = len(data) // 2 + 1 if len(data) > 2 else 0
        writer.write(data[:place] + bytes([data[place] ^ 1]) + data[place + 1:])

    @staticmethod
    async def _cut(writer, data):
        writer.write(data[:len(data) // 2])
        await writer.drain()
        raise ConnectionResetError

    @staticmethod
    async def _reset(writer, _data):
        writer.transport.abort()
        raise ConnectionResetError


async def run(options):
    Path(options.control).touch()
    relay = Relay(options.origin_port, options.control)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", options.port)
    async with server:
        await server.serve_forever()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--origin-port", type=int, required=True)
    parser.add_argument("--control", required=True)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()

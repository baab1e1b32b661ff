"""A distance between programs of one machine: connections through it take a given time longer, each way."""

import asyncio
import contextlib
import threading


class Distance:
    """Passes connections to `port` on to `target`, and every byte after `delay_s`."""

    def __init__(self, port, target, delay_s):
        self._delay_s = delay_s
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(self._listen(port, target))
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def _listen(self, port, target):
        async def accept(reader, writer):
            with contextlib.suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target)
                await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))
            writer.close()

        return asyncio.start_server(accept, "127.0.0.1", port, reuse_port=True)

    async def _pass_on(self, reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                self._loop.call_later(self._delay_s, writer.write, data)
        self._loop.call_later(self._delay_s, writer.close)

    def close(self):
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end(self):
        self._server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

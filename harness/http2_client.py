"""HTTP/2 by hand: frames as bytes, for clients that no library would let one be."""

import socket
import struct

import hpack

from harness.build import patience

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = \
    range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
NO_ERROR, PROTOCOL_ERROR, STREAM_CLOSED, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = \
    0, 1, 5, 7, 8, 11
FRAME_BYTES_MAX = 16384
# SETTINGS: fields are sent without a table of earlier ones; streams' windows are wide open.
NO_TABLE = struct.pack(">HI", 1, 0)
WIDE = struct.pack(">HI", 4, (1 << 31) - 1)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) \
        + payload


def field(name, value):
    """A literal field that goes into no table (RFC 7541, 6.2.2)."""
    def text(string):
        size = len(string)
        if size < 127:
            return bytes((size,)) + string
        rest, encoded = size - 127, b"\x7f"
        while rest >= 128:
            encoded += bytes((rest % 128 | 128,))
            rest //= 128
        return encoded + bytes((rest,)) + string
    return b"\x00" + text(name.encode("latin-1")) + text(value.encode("latin-1"))


def request_fields(path="/", method="GET", authority="localhost", scheme="http", more=(), coder=None):
    """With a `coder` of hpack's, as it encodes them: its table is the connection's."""
    pairs = [(":method", method), (":scheme", scheme), (":path", path)]
    if authority is not None:
        pairs.append((":authority", authority))
    if coder:
        return coder.encode([*pairs, *more])
    return b"".join(field(*pair) for pair in [*pairs, *more])


def status_of(block):
    """The status in an answer's fields: of the first answer of a connection, or of any that refers to no
    earlier one (NO_TABLE)."""
    return int(dict(hpack.Decoder().decode(block))[":status"])


class Http2Client:
    """What comes in is read frame by frame. Inside TLS with a `context` of the module ssl."""

    def __init__(self, port, settings=b"", timeout_s=15, context=None):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s * patience())
        self._scheme = "https" if context else "http"
        if context:
            self._socket = context.wrap_socket(self._socket, server_hostname="localhost")
        self._input = b""
        self.next_stream = 1
        self.send(PREFACE + frame(SETTINGS, 0, 0, settings))

    def send(self, data):
        self._socket.sendall(data)

    def request(self, path="/", end=True, **options):
        """Opens a stream; yields its number."""
        self.send(self.request_frames(path, end, **options))
        return self.next_stream - 2

    def request_frames(self, path="/", end=True, **options):
        """The frames that open the next stream."""
        stream = self.next_stream
        self.next_stream += 2
        frames = b""
        block = request_fields(path, **{"scheme": self._scheme, **options})
        pieces = [block[begin:begin + FRAME_BYTES_MAX]
                  for begin in range(0, len(block), FRAME_BYTES_MAX)]
        for number, piece in enumerate(pieces):
            flags = END_HEADERS if number == len(pieces) - 1 else 0
            if number == 0:
                frames += frame(HEADERS, flags | (END_STREAM if end else 0), stream, piece)
            else:
                frames += frame(CONTINUATION, flags, stream, piece)
        return frames

    def read_frame(self):
        """(kind, flags, stream, payload); None at the end of the connection."""
        def take(size):
            while len(self._input) < size:
                try:
                    piece = self._socket.recv(65536)
                except ConnectionResetError:
                    piece = b""
                if not piece:
                    return None
                self._input += piece
            taken, self._input = self._input[:size], self._input[size:]
            return taken
        header = take(9)
        if header is None:
            return None
        size = int.from_bytes(header[:3], "big")
        payload = take(size) if size else b""
        if payload is None:
            return None
        return header[3], header[4], int.from_bytes(header[5:], "big") & 0x7fffffff, payload

    def wait_for(self, kind, stream=None):
        """The next frame of that kind; None when the connection ends before."""
        while (got := self.read_frame()) is not None:
            if got[0] == kind and stream in (None, got[2]) and not (kind == SETTINGS and got[1] & ACK):
                return got
        return None

    def end_code(self):
        """The error code of the GOAWAY; None when there is none."""
        got = self.wait_for(GOAWAY)
        return int.from_bytes(got[3][4:8], "big") if got else None

    def reset_code(self, stream):
        got = self.wait_for(RST_STREAM, stream)
        return int.from_bytes(got[3], "big") if got else None

    def body(self, stream):
        """All DATA of a stream, up to its end."""
        whole = b""
        while (got := self.read_frame()) is not None:
            kind, flags, of_stream, payload = got
            if of_stream != stream:
                continue
            assert kind != RST_STREAM, payload
            if kind == DATA:
                whole += payload
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                return whole
        raise ConnectionError(f"the connection ended after {len(whole)} bytes")

    def answers(self, streams):
        """{stream: (status, body)} of all these at once; the status of one that was reset is 0. Requires
        NO_TABLE, and windows for all of it."""
        open_streams, statuses = set(streams), dict.fromkeys(streams, 0)
        bodies = {stream: bytearray() for stream in streams}
        while open_streams:
            got = self.read_frame()
            if got is None:
                raise ConnectionError(f"the connection ended with {len(open_streams)} answers open")
            kind, flags, stream, payload = got
            if stream not in open_streams:
                continue
            if kind == HEADERS:
                statuses[stream] = status_of(payload)
            elif kind == DATA:
                bodies[stream] += payload
            elif kind == RST_STREAM:
                statuses[stream] = 0
            if kind == RST_STREAM or (kind in (HEADERS, DATA) and flags & END_STREAM):
                open_streams.remove(stream)
        return {stream: (statuses[stream], bytes(bodies[stream])) for stream in streams}

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

"""An origin in this process that answers as a test says, in bytes: what Apache cannot be made to do."""

import contextlib
import socket
import threading


class ScriptedOrigin:
    """`answer` is called with each request's head and yields what to send, piece by piece. It takes
    no requests with a body."""

    def __init__(self, port, answer):
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128, reuse_port=True)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        received = b""
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                received += data
                while b"\r\n\r\n" in received:
                    head, _, received = received.partition(b"\r\n\r\n")
                    for piece in self._answer(head):
                        connection.sendall(piece)

    def close(self):
        # Wakes the thread that accepts, which close() alone does not.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

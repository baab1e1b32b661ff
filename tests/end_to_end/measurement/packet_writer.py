"""Captures of packets for tests: TCP conversations over IPv4, as pcap or pcapng."""

import struct

CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 80)
FIN, SYN, RST, ACK = 1, 2, 4, 16


def address(text):
    return bytes(map(int, text.split(".")))


def tcp(source, target, sequence, flags, data=b""):
    """An IPv4 packet. Checksums are zero, as network cards leave them."""
    header = struct.pack(">HHIIBBHHH", source[1], target[1], sequence & 0xffffffff, 0, 0x50, flags, 65535, 0, 0)
    size = 40 + len(data)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 6, 0, address(source[0]), address(target[0]))
    return ip + header + data


class Conversation:
    """Packets of one connection, in order. `cut` is the size of a segment."""

    def __init__(self, client=CLIENT, server=SERVER, cut=1000, first=0xfffffff0):
        self.client, self.server, self._cut = client, server, cut
        self._sent = {client: first, server: 7}
        self.packets = [tcp(client, server, first, SYN), tcp(server, client, 7, SYN | ACK)]
        for end in self._sent:
            self._sent[end] += 1

    def _send(self, source, target, data):
        for begin in range(0, len(data), self._cut):
            part = data[begin:begin + self._cut]
            self.packets.append(tcp(source, target, self._sent[source], ACK, part))
            self._sent[source] += len(part)

    def ask(self, data):
        self._send(self.client, self.server, data)

    def answer(self, data):
        self._send(self.server, self.client, data)

    def close(self):
        self.packets.append(tcp(self.server, self.client, self._sent[self.server], FIN | ACK))


def pcap(packets, order="<", nanoseconds=False, link=101):
    head = struct.pack(order + "IHHiIII", 0xa1b23c4d if nanoseconds else 0xa1b2c3d4, 2, 4, 0, 0, 65535, link)
    return head + b"".join(struct.pack(order + "IIII", 1_750_000_000 + i, 0, len(packet), len(packet)) + packet
                           for i, packet in enumerate(packets))


def pcapng(packets, order="<"):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = len(body) + 12
        return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)

    blocks = [block(0x0a0d0d0a, struct.pack(order + "IHHq", 0x1a2b3c4d, 1, 0, -1)),
              block(1, struct.pack(order + "HHI", 1, 0, 65535))]
    for i, packet in enumerate(packets):
        frame = bytes(12) + b"\x81\x00\x00\x05\x08\x00" + packet  # Ethernet, with the tag of a VLAN
        ticks = (1_750_000_000 + i) * 1_000_000
        head = struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xffffffff, len(frame), len(frame))
        blocks.append(block(6, head + frame))
        blocks.append(block(5, b"statistics"))
    return b"".join(blocks)

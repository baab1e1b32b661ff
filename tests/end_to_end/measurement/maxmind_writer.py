"""Small databases of MaxMind's format, version 2.0, for tests."""

import ipaddress


def encode(value):
    """A text, a map, a list, or (type, number)."""
    if isinstance(value, str):
        data = value.encode()
        size = bytes([2 << 5 | len(data)]) if len(data) < 29 else bytes([2 << 5 | 29, len(data) - 29])
        return size + data
    if isinstance(value, dict):
        return bytes([7 << 5 | len(value)]) + b"".join(encode(name) + encode(each) for name, each in value.items())
    if isinstance(value, list):
        return bytes([len(value), 11 - 7]) + b"".join(map(encode, value))
    kind, number = value
    data = number.to_bytes(8, "big").lstrip(b"\0")
    kinds = {"uint16": 5, "uint32": 6, "uint64": 9}
    if kinds[kind] > 7:
        return bytes([len(data), kinds[kind] - 7]) + data
    return bytes([kinds[kind] << 5 | len(data)]) + data


def database(entries, version=6):
    """`entries`: prefix: data. IPv4 prefixes lie under ::/96, as in MaxMind's own databases."""
    nodes = [[None, None]]
    for prefix, data in entries.items():
        network = ipaddress.ip_network(prefix)
        bits = format(int(network.network_address), f"0{network.max_prefixlen}b")[:network.prefixlen]
        if network.version == 4 and version == 6:
            bits = "0" * 96 + bits
        node = 0
        for place, bit in enumerate(map(int, bits)):
            if place == len(bits) - 1:
                nodes[node][bit] = ("data", data)
            elif nodes[node][bit] is None:
                nodes.append([None, None])
                nodes[node][bit] = ("node", len(nodes) - 1)
            node = nodes[node][bit][1] if nodes[node][bit][0] == "node" else node
    section, tree = b"", b""
    for node in nodes:
        for record in node:
            value = len(nodes)
            if record and record[0] == "node":
                value = record[1]
            elif record:
                value = len(nodes) + 16 + len(section)
                section += encode(record[1])
            tree += value.to_bytes(3, "big")
    metadata = {"node_count": ("uint32", len(nodes)), "record_size": ("uint16", 24), "ip_version": ("uint16", version),
                "database_type": "Test", "languages": ["en"], "binary_format_major_version": ("uint16", 2),
                "binary_format_minor_version": ("uint16", 0), "build_epoch": ("uint64", 1_750_000_000),
                "description": {"en": "of a test"}}
    return tree + bytes(16) + section + b"\xab\xcd\xefMaxMind.com" + encode(metadata)

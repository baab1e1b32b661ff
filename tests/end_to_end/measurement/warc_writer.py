"""WARC records for tests."""

import gzip


def record(kind, block, **fields):
    """A record; underscores in the names of fields stand for hyphens."""
    lines = [f"WARC-Type: {kind}", "Content-Type: application/http",
             *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items()),
             f"Content-Length: {len(block)}"]
    return "\r\n".join(["WARC/1.1", *lines, "", ""]).encode() + block + b"\r\n\r\n"


def response(url, second, body, *fields, status="200 OK"):
    """An answer at that second of a day."""
    head = "\r\n".join([f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(body)}", "", ""])
    date = f"2025-06-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
    return record("response", head.encode() + body, WARC_Target_URI=url, WARC_Date=date)


def members(*records):
    return b"".join(gzip.compress(each, mtime=0) for each in records)

"""
Frames on both pipes: one letter, the number of the run and the length of the payload (big endian), the payload.
"""

import io
import json
import os
import struct

HEADER = struct.Struct(">cII")
LENGTH = struct.Struct(">I")


def read_exactly(fd, size):
    """@raises EOFError if the other side has closed"""
    parts = bytearray()
    while len(parts) < size:
        part = os.read(fd, size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_header(fd):
    """@return letter, run and length of the payload, which follows"""
    return HEADER.unpack(read_exactly(fd, HEADER.size))


def send(fd, kind, run, *parts):
    write_all(fd, HEADER.pack(kind, run, sum(map(len, parts))) + b"".join(parts))


def send_with(fd, kind, run, meta, *blobs):
    """A frame of JSON, preceded by its length, and bytes."""
    text = json.dumps(meta).encode()
    send(fd, kind, run, LENGTH.pack(len(text)), text, *blobs)


def parse_request(payload):
    """The request: JSON with lengths, then the source, the input and the files."""
    (size,) = LENGTH.unpack_from(payload)
    request = json.loads(payload[LENGTH.size : LENGTH.size + size])
    rest = io.BytesIO(payload[LENGTH.size + size :])
    request["source"] = rest.read(request["source"])
    request["stdin"] = rest.read(request["stdin"])
    request["files"] = [(name, rest.read(length)) for name, length in request["files"]]
    return request

"""
Messages on a pipe: a mark that nothing else begins with, the length of a JSON header in 4 bytes, the header, then the
arrays that its `arrays` lists with name, type and shape, as they are in memory. Everything is little-endian.
"""

from __future__ import annotations

import json
import struct
import threading
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Mapping

import numpy as np

MARK = b"\xf0TRM"
TYPES = {"i32": np.dtype("<i4"), "f32": np.dtype("<f4"), "u8": np.dtype("u1")}
NAMES = {dtype: name for name, dtype in TYPES.items()}


@dataclass
class Message:
    header: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def read_message(stream: BinaryIO) -> Message | None:
    """None at the end of the stream, also in the middle of a message: the other side is gone."""
    start = _exactly(stream, len(MARK) + 4)
    if start is None:
        return None
    text = _exactly(stream, struct.unpack_from("<I", start, len(MARK))[0])
    if text is None:
        return None
    header = json.loads(text)
    arrays: dict[str, np.ndarray] = {}
    for listed in header.pop("arrays", []):
        dtype = TYPES[listed["type"]]
        size = int(np.prod(listed["shape"], dtype=np.int64)) * dtype.itemsize
        body = _exactly(stream, size)
        if body is None:
            return None
        arrays[listed["name"]] = np.frombuffer(body, dtype=dtype).reshape(listed["shape"])
    return Message(header, arrays)


def _exactly(stream: BinaryIO, count: int) -> bytes | None:
    """`read` of a buffered stream is shorter only at its end."""
    found = stream.read(count)
    return found if len(found) == count else None


class Writer:
    """Whole messages, from any thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray] = {}) -> None:
        laid = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        listed = [
            {"name": name, "type": NAMES[array.dtype], "shape": list(array.shape)} for name, array in laid.items()
        ]
        text = json.dumps({**header, "arrays": listed}, allow_nan=False).encode()
        with self._lock:
            self._stream.write(MARK + struct.pack("<I", len(text)) + text)
            for array in laid.values():
                self._stream.write(memoryview(array).cast("B") if array.size > 0 else b"")
            self._stream.flush()

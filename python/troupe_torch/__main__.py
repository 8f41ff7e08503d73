"""
Started by src/engines/torch/worker.ts with its options as JSON in the only argument. Requests and results are frames on
the pipes; whatever else is printed goes to standard error. It ends with its parent: then its input ends.
"""

from __future__ import annotations

import os
import sys
import threading

_in, _out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
# A library that asks a question would wait for ever, and read requests.
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
# Results must not depend on where in memory an operand is. Read when the libraries are loaded.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
# Batches of many lengths would leave a GPU's memory in pieces.
if "PYTORCH_ALLOC_CONF" not in os.environ:
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
# Threads that wait do not spin: beside other programs that made everything ten times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

# glibc would raise its threshold to the largest block that was freed, and keep such blocks in pieces that nothing fits.
try:
    import ctypes

    ctypes.CDLL(None).mallopt(-3, 8 << 20)  # M_MMAP_THRESHOLD
except (OSError, AttributeError):
    pass  # another C library

import json  # noqa: E402
import queue  # noqa: E402
import re  # noqa: E402
import struct  # noqa: E402
from importlib import import_module  # noqa: E402
from typing import Any  # noqa: E402

#: Older ones lack what is called here. `engine install` installs those with which it is tested.
OLDEST = {"numpy": (2, 0), "safetensors": (0, 4), "torch": (2, 5), "transformers": (5, 0)}


def main() -> None:
    options = json.loads(sys.argv[1])
    for package, version in OLDEST.items():
        problem = _problem(package, version)
        if problem is not None:
            _reject(f"{sys.executable} {problem}")
            sys.exit(1)
    try:
        from .frames import Message, Writer, read_message

        requests: queue.Queue[Message] = queue.Queue()
        cancelled: set[int] = set()
        threading.Thread(target=_read, args=(read_message, requests, cancelled), daemon=True).start()
        from .worker import Worker
    except Exception as error:  # a version that this was not written for
        _reject(f"{sys.executable} cannot import what the engine needs ({type(error).__name__}: {error})")
        raise
    Worker(options, requests, cancelled, Writer(_out)).run()


def _problem(package: str, oldest: tuple[int, int]) -> str | None:
    """What is wrong with it: it is missing, its libraries do not load, it is too old."""
    expected = f"{package} {oldest[0]}.{oldest[1]} or newer is needed"
    try:
        version = str(import_module(package).__version__)
    except Exception as error:
        return f"cannot import {package} ({type(error).__name__}: {error}); {expected}"
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    return None if numbers >= oldest else f"has {package} {version}; {expected}"


def _reject(problem: str) -> None:
    # The caller knows how its program is called.
    error = {"code": "no_engine", "message": problem, "fix": "python"}
    text = json.dumps({"id": 0, "error": error}).encode()
    # As in frames.py, which needs numpy.
    _out.write(b"\xf0TRM" + struct.pack("<I", len(text)) + text)
    _out.flush()


def _read(read_message: Any, requests: "queue.Queue[Any]", cancelled: set[int]) -> None:
    while True:
        message = read_message(_in)
        if message is None:
            # Nobody is left for whom to compute; the main thread may be deep in a product of matrices.
            os._exit(0)
        if message.header["verb"] == "cancel":
            cancelled.add(message.header["target"])
        requests.put(message)


main()

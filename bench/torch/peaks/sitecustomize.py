"""
Imported by every Python that finds it in PYTHONPATH: writes the largest memory of its process since the file that
TROUPE_BENCH_PEAKS names was last removed, in bytes. `allocated` is what glibc's allocator has handed out (mallinfo2), which
is where PyTorch's tensors on the processor are; `anonymous` and `mapped` are what of it, and of mapped files, was in memory.
On a GPU, `device` is what tensors had, `reserved` what PyTorch had taken, and `used` what all programs had, contexts included.
"""

import ctypes
import json
import os
import sys
import threading
import time
from pathlib import Path

FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS]


def _on_device(anew: bool) -> dict[str, int]:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if not getattr(cuda, "is_initialized", lambda: False)():
        return {}
    if anew:
        cuda.reset_peak_memory_stats()
    free, total = cuda.mem_get_info()
    return {"device": cuda.max_memory_allocated(), "reserved": cuda.max_memory_reserved(), "used": total - free}


def _watch(file: Path) -> None:
    counts = ctypes.CDLL(None).mallinfo2
    counts.restype = Counts
    peaks: dict[str, int] = {}
    while True:
        anew = not file.exists()
        if anew:
            peaks = {}
        found = counts()
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        now = {
            "allocated": found.uordblks + found.hblkhd,
            "anonymous": 1024 * int(status["RssAnon"].split()[0]),
            "mapped": 1024 * int(status["RssFile"].split()[0]),
            **_on_device(anew),
        }
        higher = {name: max(value, peaks.get(name, 0)) for name, value in now.items()}
        if higher != peaks:
            peaks = higher
            unfinished = file.with_suffix(".unfinished")
            unfinished.write_text(json.dumps(peaks))
            os.replace(unfinished, file)
        time.sleep(0.01)


if "TROUPE_BENCH_PEAKS" in os.environ:
    threading.Thread(target=_watch, args=(Path(os.environ["TROUPE_BENCH_PEAKS"]),), daemon=True).start()

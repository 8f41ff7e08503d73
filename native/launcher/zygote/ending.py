"""Why a program ended, from its exit status and what it wrote last."""

import errno
import re
import signal


def how_it_ended(code, number, stderr, cpu, limits):
    if code is None and number is None:
        return "memory"  # Only the kernel kills process 1, when memory runs out.
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu >= limits["cpuSeconds"]):
        return "cpu-time"
    if number is not None:
        return "signalled"
    last = stderr.rstrip().rpartition(b"\n")[2] if code != 0 else b""
    if re.match(rb"[\w.]*MemoryError\b", last):  # numpy has its own.
        return "memory"
    full = (errno.ENOSPC, errno.EFBIG)
    if any(last.startswith(b"OSError: [Errno %d]" % one) for one in full):
        return "disk"
    return "exited"


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG%d" % number

"""Why a program ended, from its exit status and what it wrote last."""

# Seconds by which the kernel's clock ticks may be apart.
TICKS = 0.05


import errno
import re
import signal


def killed_from_outside(code, number, cpu, hard):
    """
    Whether somebody else ended it: the filter keeps a program from sending SIGKILL to itself or to process 1, so that
    only its limit on processor time sends one from inside. The kernel's, when memory runs out, is from outside too.
    """
    if code is None and number is None:
        return True
    return number == signal.SIGKILL and not 0 < hard <= cpu + TICKS


def how_it_ended(code, number, stderr, cpu, limits):
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu + TICKS >= limits["cpuSeconds"]):
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

"""Why a program ended, from its exit status and what it wrote last."""

import errno
import re
import signal

# Seconds by which the kernel's clock ticks may be apart.
TICKS = 0.05

# It samples time for its limits, and measures what it reports: on a virtual machine, as little as this share of a limit.
SAMPLED = 0.5

# What the filter (src/sandbox/local/filter.ts) keeps a program from sending to its main process.
FROM_OUTSIDE = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}


def killed_from_outside(code, number, cpu, hard):
    """
    Whether somebody else ended it. The kernel's SIGKILL, when memory runs out, is from outside too; only the program's
    limit on processor time sends one from inside.
    """
    if code is None and number is None:
        return True
    return number in FROM_OUTSIDE or (number == signal.SIGKILL and not reached(hard, cpu))


def reached(limit, cpu):
    """A limit of the kernel's on processor seconds."""
    return cpu + TICKS >= SAMPLED * limit


def how_it_ended(code, number, stderr, cpu, limits, soft):
    # The kernel has raised the limit by a second, from at least one, as it sent the signal.
    if number == signal.SIGXCPU and soft >= 2 and reached(soft - 1, cpu):
        return "cpu-time"
    if number == signal.SIGKILL and cpu + TICKS >= limits["cpuSeconds"]:
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

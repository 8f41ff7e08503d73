"""Process 1 of the program's process namespace, and the step from it to the program."""

import math
import os
import resource
import signal
import struct

from confinement import confine
from frames import write_all
from kernel import PR_SET_PDEATHSIG, call, libc
from program import run_program

# Wait status, processor seconds, the program's own limits on them (soft and hard), peak bytes.
STATUS = struct.Struct(">idddq")
NO_LIMITS = (math.inf, math.inf)


def run_init(setting, request, place, pipes):
    """Starts the program and waits for it; the rest of its namespace dies with this process. Never returns."""
    call(libc.prctl, PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() not in (0, request["supervisor"]):
        os._exit(1)
    init = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            become_program(setting, request, place, pipes, init)
        finally:
            os._exit(125)
    for fd in (pipes.stdin[0], pipes.stdout[1], pipes.stderr[1]):
        os.close(fd)
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
        soft, hard = limits_of(ended) if ended == pid else NO_LIMITS
        _, status, usage = os.wait4(ended, 0)
        if ended == pid:
            break
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = children.ru_utime + children.ru_stime
    write_all(pipes.status[1], STATUS.pack(status, seconds, soft, hard, usage.ru_maxrss * 1024))
    os._exit(0)


def limits_of(pid):
    """On processor seconds, of a process that has ended but still has an entry: it may have lowered its own."""
    try:
        limits = resource.prlimit(pid, resource.RLIMIT_CPU)
    except OSError:
        return NO_LIMITS
    return tuple(math.inf if each == resource.RLIM_INFINITY else each for each in limits)


def become_program(setting, request, place, pipes, init):
    if not setting.namespaces:
        call(libc.prctl, PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != init:
            os._exit(1)
    os.setsid()
    for fd, target in ((pipes.stdin[0], 0), (pipes.stdout[1], 1), (pipes.stderr[1], 2)):
        os.dup2(fd, target)
    os.dup2(pipes.failure[1], 3)
    os.closerange(4, 1024)
    os.chdir(place.workspace)
    os.environ.clear()
    os.environ.update(setting.variables)
    os.environ.update(environment_of(place))
    # Without confinement nothing runs. The pipe for the reason is closed before the source can write to it.
    try:
        confine(setting, place, request["limits"])
    except BaseException as error:
        write_all(3, ("not confined: %s" % error).encode())
        os._exit(125)
    os.close(3)
    run_program(request, place, request["interactive"])


def environment_of(place):
    return {
        "HOME": place.workspace,
        "TMPDIR": place.temporary,
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }

"""
What a program may do: read and write some files (Landlock), nothing that needs a capability, resources within limits,
the system calls of a filter (seccomp).
"""

import ctypes
import os
import resource
import stat
import struct

from kernel import (
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_SECCOMP,
    PR_SET_SECUREBITS,
    call,
    libc,
    system_call,
)

SECCOMP_MODE_FILTER = 2
# NOROOT, NO_SETUID_FIXUP, KEEP_CAPS off, NO_CAP_AMBIENT_RAISE, each locked.
SECURE_BITS = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
# Access rights of a rule for a file: execute, write, read, truncate, ioctl.
LANDLOCK_FILE_RIGHTS = 0x1 | 0x2 | 0x4 | 0x4000 | 0x8000
LANDLOCK_READ = 0x1 | 0x4 | 0x8


def confine(setting, place, limits):
    call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    restrict_files(setting, place.writable)
    drop_capabilities()
    set_limits(limits, setting.namespaces, setting.base)
    install_filter(with_own_number(setting.filter))


def landlock_version():
    return max(0, system_call(LANDLOCK_CREATE_RULESET, None, 0, 1))


def restrict_files(setting, writable):
    """Landlock: reads below `readable`, everything below `writable`, nothing else."""
    version = setting.landlock
    if version == 0:
        return
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    attributes = [handled, 0x3, 0x3][: 1 if version < 4 else 2 if version < 6 else 3]
    packed = struct.pack("=%dQ" % len(attributes), *attributes)
    ruleset = call(system_call, LANDLOCK_CREATE_RULESET, packed, len(packed), 0)
    rules = [(path, LANDLOCK_READ) for path in setting.readable]
    rules += [(path, handled & ~0x1) for path in writable]
    rules += [("/dev/" + name, 0x2 | 0x4) for name in ("null", "zero", "full", "random", "urandom")]
    for path, rights in rules:
        allow(ruleset, path, rights & handled)
    call(system_call, LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def allow(ruleset, path, rights):
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(fd).st_mode):
        rights &= LANDLOCK_FILE_RIGHTS
    call(system_call, LANDLOCK_ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, fd), 0)
    os.close(fd)


def drop_capabilities():
    """Drops all capabilities permanently, from every set. Does nothing if there are none."""
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    libc.prctl(PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0)
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    call(libc.capset, struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", 0, 0, 0, 0, 0, 0))


def set_limits(limits, namespaces, base):
    def limit(what, soft, hard=None):
        resource.setrlimit(what, (soft, soft if hard is None else hard))

    seconds = max(1, -int(-limits["cpuSeconds"] // 1))
    limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    limit(resource.RLIMIT_AS, limits["memoryBytes"] + base + (128 << 20))
    limit(resource.RLIMIT_FSIZE, limits["diskBytes"])
    limit(resource.RLIMIT_NOFILE, 128)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_MEMLOCK, 0)
    limit(resource.RLIMIT_MSGQUEUE, 0)
    if namespaces:
        # The zygote, the supervisor and init count too.
        limit(resource.RLIMIT_NPROC, limits["processes"] + 4)


def install_filter(program):
    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]

    loaded = Filter(len(program) // 8, program)
    call(libc.prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(loaded), 0, 0)


def with_own_number(program):
    """Writes this process's number, and its negative, into the filter, which compares them with the target of a signal."""
    own = os.getpid()
    for place, number in ((0x7E57_0001, own), (0x7E57_0002, 2**32 - own)):
        program = program.replace(struct.pack("<I", place), struct.pack("<I", number))
    return program

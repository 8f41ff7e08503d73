"""Functions of the C library, and system calls that have none there."""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND = 1, 2, 4, 8, 4096
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 1, 22, 24, 28
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4

libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
libc.capset.argtypes = [ctypes.c_char_p] * 2


def call(function, *arguments):
    """Calls a function of the C library; raises OSError if it fails."""
    result = function(*arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, getattr(function, "__name__", "call") + ": " + os.strerror(code))
    return result


def system_call(number, *arguments):
    """Calls by number, for system calls without a function in the C library. @return −1 if it fails"""
    given = [argument if argument is None or isinstance(argument, bytes) else ctypes.c_long(argument) for argument in arguments]
    return libc.syscall(ctypes.c_long(number), *given)

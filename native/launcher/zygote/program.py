"""Runs a source as Python runs a file."""

import atexit
import builtins
import gc
import os
import signal
import sys
import threading
import types


def run_program(request, place, interactive):
    """Never returns."""
    gc.enable()
    # As in any program, but from nobody else: an exception where somebody interrupts it would be taken for its own.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random = sys.modules.get("random")
    if random is not None:
        random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)
    sys.argv[:] = ["main.py", *request["arguments"]]
    sys.path.insert(0, place.workspace)
    main = types.ModuleType("__main__")
    main.__file__ = os.path.join(place.workspace, "main.py")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    open_streams(interactive)
    code = 0
    try:
        exec(compile(request.pop("source"), main.__file__, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as end:
        code = exit_code(end.code)
    except BaseException as error:
        code = report(error)
    leave(code)


def open_streams(interactive):
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = open(
        1, "w", encoding="utf-8", errors="surrogateescape", closefd=False, buffering=1 if interactive else -1
    )
    sys.stderr = sys.__stderr__ = open(
        2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def report(error):
    """Prints the traceback without the frames of this file."""
    try:
        trace = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except BaseException:
        pass
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def leave(code):
    """Exits as Python does (threads, exit functions, buffers), without finalising the interpreter."""
    for end in (threading._shutdown, atexit._run_exitfuncs):
        try:
            end()
        except BaseException:
            pass
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    os._exit(code)

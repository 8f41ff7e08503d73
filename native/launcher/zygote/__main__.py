"""
A warm Python interpreter inside a sandbox. It forks once per program, so that programs start with modules
imported and leave nothing behind.

    zygote      reads no request, so that programs do not find others' in its memory; forks a supervisor for each run
    supervisor  reads the request, prepares a workspace, watches limits, collects output and files, answers
    init        process 1 of the program's process namespace: reaps what the program leaves, cannot be killed from inside
    program     confined (Landlock, capabilities, resource limits, seccomp), then runs the source as __main__

Without namespaces a program may start threads but no processes, and may signal only itself.
docs/sandbox.md describes what is contained and what is not.
"""

import gc
import json
import os
import signal
import sys

from frames import read_exactly, read_header, send_with
from setting import Setting
from supervisor import supervise
from usage import PAGE

# Imported before any fork: the modules that programs use most.
WARM = """abc array bisect cmath collections contextlib copy dataclasses datetime decimal enum fractions functools
heapq inspect itertools math numbers operator random re statistics string textwrap traceback typing hashlib""".split()


def main():
    hide_own_modules()
    # Python would raise an exception wherever it is; whoever is interrupted in a frame must not write another one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    control, answers = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    send_with(answers, b"H", 0, {"python": sys.version.split()[0], "machine": os.uname().machine})
    _, _, size = read_header(control)
    options = json.loads(read_exactly(control, size))
    os.environ.update(options.get("variables", {}))
    setting = Setting(control, answers, options)
    warm(setting, options.get("imports", []))
    gc.collect()
    gc.freeze()
    gc.disable()
    send_with(answers, b"Y", 0, {"landlock": setting.landlock, "proc": setting.proc is not None})
    serve(setting)


def hide_own_modules():
    """A program that imports a module of the same name gets its own."""
    folder = sys.path.pop(0)
    for name, module in list(sys.modules.items()):
        if name != "__main__" and os.path.dirname(getattr(module, "__file__", None) or "") == folder:
            del sys.modules[name]


def warm(setting, imports):
    """Imports what programs use: each is forked with it."""
    before = address_space()
    for name in (*WARM, *imports):
        try:
            __import__(name)
        except ImportError:
            pass
    if imports:
        setting.base = max(0, address_space() - before)


def address_space():
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * PAGE
    except OSError:
        return 0


def serve(setting):
    zygote = os.getpid()
    while True:
        kind, run, size = read_header(setting.control)
        if kind != b"R":
            # For a run that has ended.
            read_exactly(setting.control, size)
            continue
        pid = os.fork()
        if pid == 0:
            supervise(setting, run, size, zygote)
        ended, status = os.waitpid(-1, 0)
        while ended != pid:
            ended, status = os.waitpid(-1, 0)
        if status != 0:
            # It may have been killed in the middle of a frame: nothing that followed could be read.
            sys.exit("a supervisor was killed")


if __name__ == "__main__":
    try:
        main()
    except EOFError:
        pass

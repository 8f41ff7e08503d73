"""
A warm Python interpreter inside a sandbox. It forks once per program, so that programs start with modules
imported and leave nothing behind.

    zygote      reads no request, so that programs do not find others' in its memory; forks a supervisor for each run
    supervisor  reads the request, prepares a workspace, watches limits, collects output and files, answers
    init        process 1 of the program's process namespace: reaps what the program leaves, cannot be killed from inside
    program     confined (Landlock, capabilities, resource limits, seccomp), then runs the source as __main__

Without namespaces a program may start threads but no processes, and may signal only itself.
Frames on both pipes: one letter, the number of the run and the length of the payload (big endian), the payload.
docs/sandbox.md describes what is contained and what is not.
"""

import atexit
import base64
import builtins
import ctypes
import errno
import gc
import io
import json
import os
import re
import resource
import select
import signal
import stat
import struct
import sys
import threading
import time
import types

HEADER = struct.Struct(">cII")
LENGTH = struct.Struct(">I")
STATUS = struct.Struct(">iddq")

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND = 1, 2, 4, 8, 4096
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 1, 22, 24, 28
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
SECCOMP_MODE_FILTER = 2
# NOROOT, NO_SETUID_FIXUP, KEEP_CAPS off, NO_CAP_AMBIENT_RAISE, each locked.
SECURE_BITS = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
# Access rights of a rule for a file: execute, write, read, truncate, ioctl.
LANDLOCK_FILE_RIGHTS = 0x1 | 0x2 | 0x4 | 0x4000 | 0x8000
LANDLOCK_READ = 0x1 | 0x4 | 0x8

# Imported before any fork: the modules that programs use most.
WARM = """abc array bisect cmath collections contextlib copy dataclasses datetime decimal enum fractions functools
heapq inspect itertools math numbers operator random re statistics string textwrap traceback typing hashlib""".split()

# Seconds between measurements: shorter while a program works, longer while it waits.
FIRST_POLL, SHORTEST_POLL, LONGEST_POLL = 0.03, 0.025, 0.2
DEEPEST = 32  # folders below the workspace whose files can be returned
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")

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


# --- frames ---------------------------------------------------------------------------------------------------------


def read_exactly(fd, size):
    """@raises EOFError if the other side has closed"""
    parts = bytearray()
    while len(parts) < size:
        part = os.read(fd, size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def send(fd, kind, run, *parts):
    write_all(fd, HEADER.pack(kind, run, sum(map(len, parts))) + b"".join(parts))


def send_with(fd, kind, run, meta, *blobs):
    """A frame of JSON, preceded by its length, and bytes."""
    text = json.dumps(meta).encode()
    send(fd, kind, run, LENGTH.pack(len(text)), text, *blobs)


def parse_request(payload):
    """The request: JSON with lengths, then the source, the input and the files."""
    (size,) = LENGTH.unpack_from(payload)
    request = json.loads(payload[LENGTH.size : LENGTH.size + size])
    rest = io.BytesIO(payload[LENGTH.size + size :])
    request["source"] = rest.read(request["source"])
    request["stdin"] = rest.read(request["stdin"])
    request["files"] = [(name, rest.read(length)) for name, length in request["files"]]
    return request


# --- confinement of a program ---------------------------------------------------------------------------------------


class Setting:
    """What the worker found at its start; the same for all runs."""

    def __init__(self, control, answers, options):
        self.control, self.answers = control, answers
        self.namespaces = options["namespaces"]
        self.filter = base64.b64decode(options["filter"])
        self.readable = options["readable"]
        self.scratch = options["scratch"]
        self.variables = options.get("variables", {})
        # Address space that imported libraries take: no program has it for itself.
        self.base = 0
        self.landlock = landlock_version()
        self.proc = open_proc()


def landlock_version():
    return max(0, system_call(LANDLOCK_CREATE_RULESET, None, 0, 1))


def open_proc():
    """The worker's process table: programs cannot see it, supervisors read it through this descriptor."""
    try:
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        return proc if "self" in os.listdir(proc) else None
    except OSError:
        return None


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


def signal_only_itself(program):
    """Writes this process's number into the filter, which compares it with the target of a signal."""
    return program.replace(struct.pack("<I", 0x7E57_0001), struct.pack("<I", os.getpid()))


def confine(setting, place, limits):
    call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    restrict_files(setting, place.writable)
    drop_capabilities()
    set_limits(limits, setting.namespaces, setting.base)
    install_filter(setting.filter if setting.namespaces else signal_only_itself(setting.filter))


# --- workspaces -----------------------------------------------------------------------------------------------------


class Place:
    """A program's workspace: its own file system in memory, or a folder in the scratch folder."""

    def __init__(self, setting, limits):
        if setting.namespaces:
            make_box(limits)
            self.workspace, self.temporary = "/workspace", "/tmp"
            self.writable = ["/workspace", "/tmp", "/dev/shm"]
            self.scratch = None
        else:
            # Workers share the folder; a killed one may have left its own.
            self.scratch = os.path.join(setting.scratch, "run-%d" % os.getpid())
            remove_tree(self.scratch)
            self.workspace = os.path.join(self.scratch, "workspace")
            self.temporary = os.path.join(self.scratch, "tmp")
            self.writable = [self.workspace, self.temporary]
            for path in (self.scratch, self.workspace, self.temporary):
                os.mkdir(path, 0o700)

    def remove(self):
        if self.scratch is not None:
            remove_tree(self.scratch)


def make_box(limits):
    """Mounts the writable folders, and an empty folder over the process table; both end with the namespace."""
    call(libc.unshare, CLONE_NEWNS | CLONE_NEWPID)
    options = "size=%d,nr_inodes=%d,mode=700" % (limits["diskBytes"], limits["files"] + 5)
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    call(libc.mount, b"tmpfs", b"/box", b"tmpfs", flags, options.encode())
    for name, target in (("workspace", "/workspace"), ("tmp", "/tmp"), ("shm", "/dev/shm")):
        os.mkdir("/box/" + name, 0o700)
        call(libc.mount, ("/box/" + name).encode(), target.encode(), None, MS_BIND, None)
    call(libc.mount, b"tmpfs", b"/proc", b"tmpfs", flags | MS_RDONLY, b"size=4k,nr_inodes=2,mode=555")


def inside(name):
    parts = name.split("/")
    return name != "" and not any(part in ("", ".", "..") for part in parts) and "\0" not in name


def write_files(workspace, files):
    for name, data in files:
        if not inside(name):
            raise ValueError("not a path inside the workspace: %r" % name)
        path = os.path.join(workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def entries_of(folder):
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def remove_tree(root):
    """Moves folders up before it enters them: a program can nest them deeper than recursion, or a path, can reach."""
    folders, moved = [root], 0
    while folders:
        folder = folders.pop()
        for entry in entries_of(folder):
            moved += 1
            target = "%s.%d" % (root, moved)
            try:
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)
                    os.rename(entry.path, target)
                    folders.append(target)
                else:
                    os.unlink(entry.path)
            except OSError:
                continue
        try:
            os.rmdir(folder)
        except OSError:
            continue


def pattern_of(glob):
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(part) or re.escape(part) for part in parts)


def files_below(folder, prefix="", depth=0):
    """Regular files only, by name; does not follow links or enter deeper folders."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.is_file(follow_symlinks=False):
            yield prefix + entry.name, entry.path
        elif entry.is_dir(follow_symlinks=False) and depth < DEEPEST:
            try:
                yield from files_below(entry.path, prefix + entry.name + "/", depth + 1)
            except OSError:
                continue


def collect(workspace, globs, limit):
    """Called after the program's processes have ended. @return names and contents, at most `limit` bytes in total"""
    if not globs:
        return []
    wanted = re.compile("|".join("(?:%s)" % pattern_of(glob) for glob in globs), re.DOTALL)
    collected = []
    for name, path in files_below(workspace):
        try:
            name.encode()
            if wanted.fullmatch(name) is None:
                continue
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                data = file.read(limit + 1)
        except (OSError, UnicodeEncodeError):
            continue
        if len(data) > limit:
            break
        limit -= len(data)
        collected.append((name, data))
    return collected


# --- program --------------------------------------------------------------------------------------------------------


def run_program(request, place, interactive):
    """Runs the source as Python runs a file; never returns."""
    gc.enable()
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


# --- init -----------------------------------------------------------------------------------------------------------


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
        ended, status, usage = os.wait4(-1, 0)
        if ended == pid:
            break
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = children.ru_utime + children.ru_stime
    write_all(pipes.status[1], STATUS.pack(status, seconds, 0.0, usage.ru_maxrss * 1024))
    os._exit(0)


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


# --- supervisor -----------------------------------------------------------------------------------------------------


class Pipes:
    def __init__(self):
        self.stdin, self.stdout, self.stderr, self.status, self.failure = (os.pipe() for _ in range(5))


class Supervisor:
    def __init__(self, setting, run, request, place, init, pipes):
        self.setting, self.run, self.request, self.place, self.init = setting, run, request, place, init
        self.limits = request["limits"]
        self.stdin, self.status, self.failure = pipes.stdin[1], pipes.status[0], pipes.failure[0]
        self.streams = {pipes.stdout[0]: bytearray(), pipes.stderr[0]: bytearray()}
        self.stdout, self.stderr = pipes.stdout[0], pipes.stderr[0]
        self.input = bytearray(request["stdin"])
        self.interactive = request["interactive"]
        self.reason, self.report = None, b""
        self.cpu, self.peak = 0.0, 0
        self.started = time.monotonic()
        self.interval = SHORTEST_POLL
        self.next_poll = self.started + FIRST_POLL
        self.sent = 0
        os.set_blocking(self.stdin, False)

    def watch(self):
        """Waits until the program and all of its processes have ended."""
        self.poller = select.poll()
        for fd in (*self.streams, self.status, self.setting.control):
            self.poller.register(fd, select.POLLIN)
        self.open = {*self.streams, self.status}
        self.feed()
        while self.open:
            for fd, _ in self.poller.poll(self.pause()):
                self.handle(fd)
            self.check()
        os.waitpid(self.init, 0)

    def pause(self):
        deadline = self.started + self.limits["wallSeconds"]
        until = deadline if self.setting.proc is None else min(deadline, self.next_poll)
        return max(0, (until - time.monotonic()) * 1000)

    def handle(self, fd):
        if fd == self.setting.control:
            self.obey()
        elif fd == self.stdin:
            self.feed()
        elif fd == self.status:
            self.report += self.read(fd)
        elif fd in self.open:
            self.hear(fd)

    def read(self, fd):
        data = os.read(fd, 65536)
        if not data:
            self.poller.unregister(fd)
            self.open.discard(fd)
        return data

    def hear(self, fd):
        text = self.streams[fd]
        text += self.read(fd)
        if fd == self.stdout and self.interactive:
            self.pass_lines_on(text)
        room = self.limits["outputBytes"] - (self.sent if fd == self.stdout else 0)
        if len(text) > room:
            del text[room:]
            self.kill("output")

    def pass_lines_on(self, text):
        """Lines that were passed on are not kept: a session may last for hours."""
        end = text.rfind(b"\n") + 1
        if end > 0 and self.sent + end <= self.limits["outputBytes"]:
            send(self.setting.answers, b"L", self.run, bytes(text[:end]))
            del text[:end]
            self.sent += end

    def obey(self):
        kind, run, size = HEADER.unpack(read_exactly(self.setting.control, HEADER.size))
        payload = read_exactly(self.setting.control, size)
        if run != self.run:
            return
        if kind == b"C":
            self.kill("cancelled")
        elif kind == b"S" and self.stdin is not None:
            self.next_poll = min(self.next_poll, time.monotonic() + FIRST_POLL)
            self.input += payload
            self.feed()

    def feed(self):
        """Writes as much of the input as fits into the pipe; the rest waits."""
        if self.stdin is None:
            return
        try:
            while self.input:
                del self.input[: os.write(self.stdin, self.input[:65536])]
        except BlockingIOError:
            self.poller.register(self.stdin, select.POLLOUT)
            return
        except BrokenPipeError:
            self.input.clear()
        try:
            self.poller.unregister(self.stdin)
        except KeyError:
            pass
        if not self.interactive:
            os.close(self.stdin)
            self.stdin = None

    def check(self):
        now = time.monotonic()
        if now >= self.started + self.limits["wallSeconds"]:
            self.kill("wall-time")
        elif self.setting.proc is not None and now >= self.next_poll and self.reason is None:
            before = self.cpu
            self.measure()
            works = self.cpu > before
            self.interval = SHORTEST_POLL if works else min(LONGEST_POLL, 2 * self.interval)
            self.next_poll = time.monotonic() + self.interval

    def kill(self, reason):
        """Kills process 1 of the namespace, and thereby all others; the first reason counts."""
        if self.reason is None:
            self.reason = reason
            os.kill(self.init, signal.SIGKILL)

    def measure(self):
        processes = self.processes()
        self.cpu = max(self.cpu, sum(seconds for _, seconds, _ in processes))
        used = sum(size for _, _, size in processes)
        if used > self.limits["memoryBytes"]:
            used = sum(self.share_of(pid, size) for pid, _, size in processes)
        self.peak = max(self.peak, used)
        if used > self.limits["memoryBytes"]:
            self.kill("memory")
        elif self.cpu > self.limits["cpuSeconds"]:
            self.kill("cpu-time")
        elif self.place.scratch is not None and self.overfull(processes):
            self.kill("disk")

    def processes(self):
        """Number, processor seconds (including ended children) and bytes of each of the program's processes."""
        found = []
        for name in self.candidates():
            if not name.isdigit() or int(name) in self.request["others"]:
                continue
            try:
                with open(os.open(name + "/stat", os.O_RDONLY, dir_fd=self.setting.proc), "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if self.setting.namespaces or int(fields[1]) in (os.getpid(), self.init):
                seconds = sum(map(int, fields[11:15])) / TICK
                size = 0 if int(name) == self.init else int(fields[21]) * PAGE
                found.append((name, seconds, size))
        return found

    def candidates(self):
        """All processes of the worker; without namespaces that would be all of the machine, so only init and its children."""
        if not self.setting.namespaces:
            try:
                children = "%d/task/%d/children" % (self.init, self.init)
                with open(os.open(children, os.O_RDONLY, dir_fd=self.setting.proc)) as file:
                    return [str(self.init), *file.read().split()]
            except OSError:
                pass  # Not every kernel lists them.
        return os.listdir(self.setting.proc)

    def share_of(self, pid, size):
        """Bytes of a process; shared memory counts once."""
        try:
            with open(os.open(pid + "/smaps_rollup", os.O_RDONLY, dir_fd=self.setting.proc), "rb") as file:
                found = re.search(rb"^Pss:\s+(\d+) kB", file.read(), re.MULTILINE)
            return int(found.group(1)) * 1024
        except (OSError, AttributeError):
            return size

    def overfull(self, processes):
        total, count = sum(self.unnamed(pid) for pid, _, _ in processes), 0
        folders = [self.place.scratch]
        while folders:
            for entry in entries_of(folders.pop()):
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                try:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                except OSError:
                    continue
        return total > self.limits["diskBytes"] or count > self.limits["files"] + 5

    def unnamed(self, pid):
        """Bytes of a process's open files that have been removed."""
        sizes = {}
        for name in self.files_of(pid):
            try:
                found = os.stat("%s/fd/%s" % (pid, name), dir_fd=self.setting.proc)
            except OSError:
                continue  # It has just been closed.
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                sizes[found.st_ino] = found.st_blocks * 512
        return sum(sizes.values())

    def files_of(self, pid):
        """Numbers of a process's open files."""
        try:
            folder = os.open(pid + "/fd", os.O_RDONLY, dir_fd=self.setting.proc)
        except OSError:
            return []
        try:
            return os.listdir(folder)
        except OSError:
            return []
        finally:
            os.close(folder)

    def answer(self):
        stdout, stderr = bytes(self.streams[self.stdout]), bytes(self.streams[self.stderr])
        status, peak = self.ending()
        code = os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None
        failure = os.read(self.failure, 4096)
        if failure:
            send_with(self.setting.answers, b"F", self.run, {"message": failure.decode("utf-8", "replace")})
            return
        number = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        files = collect(self.place.workspace, self.request["outputs"], self.limits["diskBytes"])
        ended = self.reason or how_it_ended(code, number, stderr, self.cpu, self.limits)
        meta = {
            "ended": ended,
            "exitCode": code if self.reason is None else None,
            "signal": None if number is None or self.reason is not None else signal_name(number),
            "stdout": len(stdout),
            "stderr": len(stderr),
            "files": [[name, len(data)] for name, data in files],
            "seconds": time.monotonic() - self.started,
            "peakBytes": max(peak, self.peak),
        }
        send_with(self.setting.answers, b"E", self.run, meta, stdout, stderr, *(data for _, data in files))

    def ending(self):
        """Wait status and peak as reported by process 1; None: it was killed."""
        if len(self.report) < STATUS.size:
            return None, 0
        status, seconds, _, peak = STATUS.unpack(self.report)
        self.cpu = max(self.cpu, seconds)
        return status, peak


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG%d" % number


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


def supervise(setting, run, size, zygote):
    """Supervises one run; never returns."""
    call(libc.prctl, PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    place = None
    try:
        request = parse_request(read_exactly(setting.control, size))
        request["supervisor"] = os.getpid()
        request["others"] = {1, zygote, os.getpid()}
        place = Place(setting, request["limits"])
        write_files(place.workspace, [("main.py", request["source"]), *request["files"]])
        pipes = Pipes()
        init = os.fork()
        if init == 0:
            for fd in (pipes.stdin[1], pipes.stdout[0], pipes.stderr[0], pipes.status[0], pipes.failure[0]):
                os.close(fd)
            try:
                run_init(setting, request, place, pipes)
            finally:
                os._exit(1)
        for fd in (pipes.stdin[0], pipes.stdout[1], pipes.stderr[1], pipes.status[1], pipes.failure[1]):
            os.close(fd)
        supervisor = Supervisor(setting, run, request, place, init, pipes)
        supervisor.watch()
        supervisor.answer()
    except EOFError:
        pass
    except BaseException as error:
        message = "%s: %s" % (type(error).__name__, error)
        send_with(setting.answers, b"F", run, {"message": message})
    finally:
        if place is not None:
            place.remove()
        os._exit(0)


# --- zygote ---------------------------------------------------------------------------------------------------------


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
        kind, run, size = HEADER.unpack(read_exactly(setting.control, HEADER.size))
        if kind != b"R":
            # For a run that has ended.
            read_exactly(setting.control, size)
            continue
        pid = os.fork()
        if pid == 0:
            supervise(setting, run, size, zygote)
        while os.waitpid(-1, 0)[0] != pid:
            pass


def main():
    sys.path.pop(0)  # the folder of this file
    control, answers = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    send_with(answers, b"H", 0, {"python": sys.version.split()[0], "machine": os.uname().machine})
    _, _, size = HEADER.unpack(read_exactly(control, HEADER.size))
    options = json.loads(read_exactly(control, size))
    os.environ.update(options.get("variables", {}))
    setting = Setting(control, answers, options)
    warm(setting, options.get("imports", []))
    gc.collect()
    gc.freeze()
    gc.disable()
    send_with(answers, b"Y", 0, {"landlock": setting.landlock, "proc": setting.proc is not None})
    serve(setting)


if __name__ == "__main__":
    try:
        main()
    except EOFError:
        pass

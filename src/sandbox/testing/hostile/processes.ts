/** Programs that attack other processes, and their own supervisors. */
import type { HostileProgram } from "./program.ts";

export const processes: readonly HostileProgram[] = [
  {
    name: "killing the parent",
    source: `
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
    try: os.kill(os.getppid() or 1, number)
    except OSError as error: print("stopped", error)
time.sleep(0.2)
print("alive")
`,
    stdout: /alive\n$/,
    ended: ["exited"],
  },
  {
    name: "killing the caller",
    source: `
attempt("a signal to the caller", lambda: os.kill(CALLER, 0))
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    attempt("signal %d" % number, lambda: os.kill(CALLER, number))
`,
  },
  {
    name: "killing everybody",
    source: `
for pid in (-1, 0, 1, 2, 3, 4):
    for number in (signal.SIGKILL, signal.SIGSTOP):
        if pid == 0 or pid == os.getpid(): continue
        try: os.kill(pid, number)
        except OSError: pass
print("done")
`,
  },
  {
    name: "killing its group",
    source: "os.killpg(0, signal.SIGKILL)\nprint('done')",
  },
  {
    name: "stopping itself",
    source: "os.kill(os.getpid(), signal.SIGSTOP)\nprint('continued')",
    ended: ["exited"],
  },
  {
    name: "an end that looks like one from outside",
    source: `
import resource
targets = [os.getpid(), 0, -1, -os.getpid()]
numbers = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
for number in numbers:
    for target in targets:
        attempt("%s for %d" % (number, target), lambda: os.kill(target, number))
    attempt("%s for its thread" % number, lambda: signal.raise_signal(number))
    # A process may choose the signal that its parent gets as it ends.
    def child():
        if call(56, int(number), 0, 0, 0, 0) == 0: os._exit(0)
        os.wait3(0x40000000)
    attempt("%s as a child ends" % number, child)
    try:
        if os.fork() == 0:
            attempt("its parent", lambda: os.kill(os.getppid(), number))
            os._exit(0)
        os.wait()
    except OSError:
        pass
# The kernel sends it for this limit, and says how much was used.
resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True: pass
`,
    ended: ["cpu-time", "signalled"],
  },
  {
    name: "a limit that ends it at once",
    source: "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nwhile True: pass",
    ended: ["cpu-time", "signalled"],
  },
  {
    name: "a stop that looks like one from outside",
    source: `
main = os.getpid()
try:
    if os.fork() == 0:
        # With a parent in another group of the session, the main process's group can be stopped.
        os.setpgid(0, 0)
        if os.fork() == 0: os.setpgid(0, main)
        for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            for target in (main, -main): attempt("%s for %d" % (number, target), lambda: os.kill(target, number))
        time.sleep(10)
except OSError:
    pass
time.sleep(0.5)
print("not stopped")
`,
    ended: ["exited"],
    stdout: /not stopped\n$/,
  },
  {
    name: "processes that survive",
    source: `
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if os.fork() > 0: os._exit(0)
        while True: time.sleep(1)
print("left")
`,
    ended: ["exited"],
  },
  {
    name: "processes that hold the output open",
    source: `
print("before", flush=True)
if os.fork() == 0:
    while True: time.sleep(1)
os._exit(7)
`,
    ended: ["exited"],
    stdout: /^before\n/,
  },
  {
    name: "threads that survive",
    source: `
import threading
threading.Thread(target=lambda: [time.sleep(1) for _ in range(10 ** 6)], daemon=True).start()
print("left")
`,
    ended: ["exited"],
    stdout: /^left\n$/,
  },
  {
    name: "threads that are waited for",
    source: `
import threading
threading.Thread(target=lambda: time.sleep(10 ** 6)).start()
`,
    ended: ["wall-time"],
    wallSeconds: 1,
  },
  {
    name: "an exit without clean-up",
    source: "print('lost', end='')\nos._exit(0)",
    ended: ["exited"],
    stdout: /^$/,
  },
  {
    name: "exit functions without end",
    source: "import atexit\natexit.register(lambda: time.sleep(10 ** 6))",
    ended: ["wall-time"],
    wallSeconds: 1,
  },
  {
    name: "exceptions at the end",
    source: `
import atexit
atexit.register(lambda: 1 / 0)
sys.excepthook = lambda *given: 1 / 0
sys.stdout.flush = lambda: 1 / 0
raise ValueError
`,
    ended: ["exited"],
  },
  {
    name: "tracing",
    source: `
import subprocess
for pid in (1, os.getppid(), CALLER, 2):
    attempt("attach to %d" % pid, lambda: call("ptrace", 16, pid, 0, 0))
    attempt("seize %d" % pid, lambda: call("ptrace", 0x4206, pid, 0, 0))
attempt("be traced", lambda: call("ptrace", 0, 0, 0, 0))
`,
  },
  {
    name: "memory of other processes",
    source: `
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(16)
own, other = Vector(ctypes.addressof(buffer), 16), Vector(id(sys), 16)
for pid in (1, 2, os.getppid(), CALLER):
    attempt("memory of %d" % pid, lambda: call("process_vm_readv", pid, ctypes.byref(own), 1, ctypes.byref(other), 1, 0))
`,
  },
  {
    name: "descriptors and signals by pidfd",
    source: `
for pid in (1, os.getppid(), CALLER):
    def steal():
        fd = call("pidfd_open", pid, 0)
        return call("pidfd_getfd", fd, 0, 0)
    attempt("descriptor of %d" % pid, steal)
attempt("signal to the caller", lambda: call("pidfd_send_signal", call("pidfd_open", CALLER, 0), 9, None, 0))
`,
  },
  {
    name: "limits of other processes",
    source: `
limit = (ctypes.c_uint64 * 2)(0, 0)
for pid in (1, os.getppid(), CALLER):
    if pid == 0: continue
    attempt("limits of %d" % pid, lambda: call("prlimit64", pid, 0, ctypes.byref(limit), None))
import resource
def raise_limit(): resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
attempt("its own limit", raise_limit)
attempt("more processes", lambda: resource.setrlimit(resource.RLIMIT_NPROC, (10 ** 6, 10 ** 6)))
`,
  },
  {
    name: "privileges",
    source: `
for what, action in {
    "another user": lambda: os.setuid(12345),
    "another group": lambda: os.setgid(12345),
    "groups": lambda: os.setgroups([0]),
    "priority": lambda: os.nice(-20),
    "of the caller": lambda: os.setpriority(os.PRIO_PROCESS, CALLER, 19),
}.items(): attempt(what, action)
class Header(ctypes.Structure): _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
data = (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)
def capabilities():
    if libc.capset(ctypes.byref(Header(0x20080522, 0)), data) != 0: raise OSError("capset")
attempt("capabilities", capabilities)
`,
  },
  {
    name: "writing to the result channel",
    source: `
import struct
forged = b'{"ended":"exited","exitCode":0,"signal":null,"stdout":6,"stderr":0,"files":[],"seconds":0,"peakBytes":0}'
frame = struct.pack(">cII", b"E", 1, 4 + len(forged) + 6) + struct.pack(">I", len(forged)) + forged + b"FORGED"
for fd in range(3, 1024):
    try:
        os.write(fd, frame)
        print("REACHED descriptor", fd, flush=True)
    except OSError: pass
sys.stdout.buffer.write(frame)
sys.stdout.flush()
sys.exit(9)
`,
    ended: ["exited"],
    stdout: /^E/,
  },
  {
    name: "reading the control channel",
    source: `
for fd in range(3, 1024):
    try:
        os.set_blocking(fd, False)
        print("REACHED descriptor", fd, os.read(fd, 10))
    except OSError: pass
`,
  },
  {
    name: "closing its own output",
    source: "for fd in range(0, 10):\n    try: os.close(fd)\n    except OSError: pass\nos._exit(4)",
    ended: ["exited"],
  },
  {
    name: "escaping the time limit",
    source: `
attempt("the clock", lambda: time.clock_settime(time.CLOCK_REALTIME, 0))
libc.prctl(1, 0, 0, 0, 0)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
time.sleep(10 ** 6)
`,
    ended: ["wall-time"],
    wallSeconds: 1,
  },
];

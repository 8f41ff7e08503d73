/** Programs that exhaust resources. */
import type { HostileProgram } from "./program.ts";

/** A stack that grows without end: on a slow machine time may be up before the memory is full. */
const untilItIsFull: HostileProgram["ended"] = ["exited", "signalled", "memory", "cpu-time", "wall-time"];

export const resources: readonly HostileProgram[] = [
  {
    name: "a fork bomb",
    source: `
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
`,
    ended: ["wall-time", "cpu-time", "memory"],
  },
  {
    name: "a fork bomb whose processes leave their group",
    source: `
def spread():
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            time.sleep(0.01)
spread()
`,
    ended: ["wall-time", "cpu-time", "memory"],
  },
  {
    name: "memory of a process whose main thread has ended",
    source: `
import threading
def hold():
    time.sleep(0.3)
    held = []
    for _ in range(400):
        held.append(bytearray(b"x" * 2**20))
    print("REACHED 400 MB", flush=True)
    time.sleep(60)
threading.Thread(target=hold).start()
libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)
`,
    ended: ["memory", "exited"],
  },
  {
    name: "memory in the buffers of sockets",
    source: `
import socket
pairs, total = [], 0
try:
    while True:
        pair = socket.socketpair()
        pairs.append(pair)
        for end in pair:
            end.setblocking(False)
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**23)
            except OSError:
                pass
            try:
                while True:
                    total += end.send(b"x" * 65536)
            except BlockingIOError:
                pass
except OSError:
    pass
if total > 256 * 2**20:
    print("REACHED %d bytes" % total, flush=True)
print("held", flush=True)
time.sleep(0.5)
`,
  },
  {
    name: "a thread bomb",
    source: `
import threading
threading.stack_size(65536)
count = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        count += 1
        if count > 5000:
            print("REACHED 5000 threads", flush=True)
            break
except RuntimeError:
    print("stopped")
os._exit(0)
`,
  },
  {
    name: "more threads than permitted",
    source: `
import threading
threading.stack_size(32768)
try:
    for _ in range(500): threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
except RuntimeError:
    print("stopped", flush=True)
    os._exit(0)
time.sleep(2)
print("REACHED 500 threads", flush=True)
os._exit(0)
`,
  },
  {
    name: "one large allocation",
    source: "x = bytearray(8 * 2 ** 30)\nprint('REACHED', len(x))",
    ended: ["memory"],
  },
  {
    name: "memory taken bit by bit",
    source: "x = []\nwhile True: x.append(bytes(bytearray(2 ** 20)))",
    ended: ["memory"],
  },
  {
    name: "memory taken by many processes",
    source: `
for _ in range(8):
    try:
        if os.fork() == 0:
            break
    except OSError:
        pass
x = []
while True:
    x.append(bytearray(2 ** 20))
    if len(x) > 400: print("REACHED 400 MB in one process", flush=True)
`,
    ended: ["memory"],
  },
  {
    name: "memory mapped and touched",
    source: `
import mmap
maps = []
while True:
    maps.append(mmap.mmap(-1, 2 ** 24))
    for at in range(0, 2 ** 24, 4096): maps[-1][at] = 1
`,
    ended: ["memory", "exited"],
  },
  {
    name: "memory errors that are caught",
    source: `
x = []
while True:
    try:
        x.append(bytearray(2 ** 22))
    except MemoryError:
        pass
`,
    ended: ["memory", "cpu-time", "wall-time"],
  },
  {
    name: "memory of an integer",
    source: "x = 1\nwhile True: x = x << (x.bit_length() + 1)",
    ended: ["memory", "cpu-time", "exited", "wall-time"],
  },
  { name: "endless output", source: "while True: print('x' * 1000)", ended: ["output"] },
  {
    name: "endless errors",
    source: "while True: sys.stderr.write('x' * 1000)",
    ended: ["output"],
  },
  {
    name: "one endless line",
    source: "while True: sys.stdout.write('x'); sys.stdout.flush()",
    ended: ["output", "cpu-time", "wall-time"],
  },
  {
    name: "a busy loop",
    source: "while True: pass",
    ended: ["cpu-time", "wall-time"],
  },
  {
    name: "a busy loop that ignores SIGXCPU",
    source: "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
    ended: ["cpu-time", "wall-time"],
  },
  {
    name: "processor time taken by many processes",
    source: `
for _ in range(6):
    try: os.fork()
    except OSError: pass
while True: pass
`,
    ended: ["cpu-time", "wall-time", "memory"],
  },
  { name: "a sleep without end", source: "time.sleep(10 ** 6)", ended: ["wall-time"], wallSeconds: 1 },
  {
    name: "a sleep that ignores every signal",
    source: `
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: time.sleep(1)
`,
    ended: ["wall-time"],
    wallSeconds: 1,
  },
  {
    name: "a wait in native code",
    source: "libc.pause()\nlibc.pause()",
    ended: ["wall-time"],
    wallSeconds: 1,
  },
  {
    name: "a regular expression without end",
    source: "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
    ended: ["cpu-time", "wall-time"],
  },
  {
    name: "a large file",
    source: `
with open("large", "wb") as file:
    for _ in range(64): file.write(bytes(2 ** 20))
print("REACHED 64 MB")
`,
    ended: ["disk"],
  },
  {
    name: "many small files",
    source: `
for number in range(100_000):
    open(f"file-{number}", "w").close()
print("REACHED 100000 files")
`,
    ended: ["disk"],
  },
  {
    name: "deep folders",
    source: `
for depth in range(100_000):
    os.mkdir("d")
    os.chdir("d")
print("REACHED 100000 folders")
`,
    ended: ["disk", "exited"],
    given: { outputs: ["**"] },
  },
  {
    name: "a sparse file as output",
    source: "with open('sparse', 'wb') as file: file.truncate(2 ** 40)\nprint('REACHED')",
    ended: ["disk", "exited"],
    given: { outputs: ["sparse"] },
    files: ["sparse"],
  },
  {
    name: "large files without a name",
    source: `
held = []
try:
    for number in range(50):
        held.append(open("hidden", "w+b"))
        os.posix_fallocate(held[-1].fileno(), 0, 2 ** 20)
        os.unlink("hidden")
    time.sleep(1)
    print("REACHED", len(held), "megabytes of its disk", flush=True)
except OSError as error: print(error)
`,
  },
  {
    name: "all file descriptors",
    source: `
held = []
while len(held) < 100_000: held.append(os.open("/dev/null", os.O_RDONLY))
print("REACHED")
`,
    ended: ["exited"],
  },
  {
    name: "pipes filled with data",
    source: `
import fcntl
held = []
while True:
    pair = os.pipe()
    os.set_blocking(pair[1], False)
    try: fcntl.fcntl(pair[1], 1031, 2 ** 20)
    except OSError: pass
    try:
        while True: os.write(pair[1], bytes(65536))
    except BlockingIOError: held.append(pair)
    if len(held) > 1000: print("REACHED 1000 pipes", flush=True)
`,
  },
  {
    name: "deep recursion",
    source: "sys.setrecursionlimit(10 ** 9)\ndef f(): return f() + 1\nf()",
    ended: untilItIsFull,
  },
  {
    name: "deep recursion in a thread",
    source: `
import threading
sys.setrecursionlimit(10 ** 9)
threading.stack_size(2 ** 26)
def f(): return f() + 1
thread = threading.Thread(target=f)
thread.start()
thread.join()
`,
    ended: untilItIsFull,
  },
  {
    name: "a deeply nested source",
    source: "eval('(' * 5000 + ')' * 5000)",
  },
  { name: "a crash of the interpreter", source: "ctypes.string_at(0)", ended: ["signalled"] },
];

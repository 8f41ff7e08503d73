/** Programs that use rarely needed parts of the kernel. */
import type { HostileProgram } from "./program.ts";

export const kernel: readonly HostileProgram[] = [
  {
    name: "nested user namespaces",
    source: `
for flags in (0x10000000, 0x10020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x00020000):
    attempt("unshare %x" % flags, lambda: call("unshare", flags))
    attempt("clone %x" % flags, lambda: call("clone", flags | 17, 0, 0, 0, 0) == 0 and os._exit(0))
class Arguments(ctypes.Structure): _fields_ = [("values", ctypes.c_uint64 * 11)]
arguments = Arguments()
arguments.values[0] = 0x10000000
arguments.values[4] = 17
attempt("clone3", lambda: call("clone3", ctypes.byref(arguments), 88) == 0 and os._exit(0))
`,
  },
  {
    name: "joining namespaces",
    source: `
for kind in ("mnt", "pid", "net", "user"):
    for pid in (1, CALLER, os.getppid()):
        attempt("%s of %d" % (kind, pid), lambda: call("setns", os.open("/proc/%d/ns/%s" % (pid, kind), os.O_RDONLY), 0))
attempt("setns", lambda: call("setns", 0, 0))
`,
  },
  {
    name: "mounts",
    source: `
attempt("tmpfs", lambda: call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None))
attempt("proc", lambda: call("mount", b"proc", b"/proc", b"proc", 0, None))
attempt("bind", lambda: call("mount", b"/", b"/tmp", None, 4096, None))
attempt("writable root", lambda: call("mount", None, b"/", None, 32 | 4096, None))
attempt("unmount proc", lambda: call("umount2", b"/proc", 2))
attempt("open_tree", lambda: call("open_tree", -100, b"/", 1))
attempt("fsopen", lambda: call("fsopen", b"tmpfs", 0))
attempt("pivot_root", lambda: call("pivot_root", b".", b"."))
attempt("chroot", lambda: os.chroot("."))
attempt("handles", lambda: call("open_by_handle_at", 0, None, 0))
`,
  },
  {
    name: "programs in memory",
    source: `
def run():
    fd = call("memfd_create", b"x", 0)
    os.write(fd, open(sys.executable, "rb").read())
    return fd
attempt("memfd", run)
attempt("execveat", lambda: call("execveat", os.open(sys.executable, os.O_RDONLY), b"", None, None, 0x1000))
`,
  },
  {
    name: "programs in the workspace",
    source: `
import shutil
def run():
    shutil.copyfile(sys.executable, "copy")
    os.chmod("copy", 0o755)
    if os.fork() == 0:
        try: os.execv("copy", ["copy", "-c", "print('REACHED')"])
        finally: os._exit(9)
    return os.wait()[1] == 0 or False
attempt("an executable file", run)
`,
  },
  {
    name: "system calls that only the kernel's friends need",
    source: `
buffer = ctypes.create_string_buffer(256)
for name, given in {
    "bpf": (0, buffer, 48), "keyctl": (0, -3, 1), "add_key": (b"user", b"x", b"y", 1, -2),
    "userfaultfd": (1,), "perf_event_open": (buffer, 0, -1, -1, 0), "kexec_load": (0, 0, None, 0),
    "init_module": (buffer, 1, b""), "reboot": (0xfee1dead, 672274793, 0x89abcdef, None),
    "sethostname": (b"hostile", 7), "settimeofday": (buffer, None), "quotactl": (0, None, 0, None),
    "syslog": (10, None, 0), "swapon": (b"x", 0), "acct": (b"x",), "fanotify_init": (0, 0),
    "inotify_init": (), "inotify_init1": (0,),
    "kcmp": (os.getpid(), os.getppid(), 0, 0, 0), "personality": (0x0040000,), "move_pages": (CALLER, 0, None, None, None, 0),
    "iopl": (3,), "modify_ldt": (0, buffer, 16),
}.items(): attempt(name, lambda: call(name, *given))
`,
  },
  {
    name: "watching what others read",
    source: `
import fcntl
attempt("F_NOTIFY", lambda: fcntl.fcntl(os.open(os.path.dirname(os.__file__), os.O_RDONLY), 1026, 1))
`,
  },
  {
    name: "shared memory that no limit counts",
    source: `
attempt("shmget", lambda: call("shmget", 0, 2 ** 26, 0o1666))
attempt("mq_open", lambda: call("mq_open", b"hostile", 0o102, 0o666, None))
`,
  },
  {
    name: "device nodes",
    source: `
attempt("mknod", lambda: os.mknod("disk", 0o660 | 0o060000, os.makedev(254, 0)))
attempt("mknod of memory", lambda: os.mknod("mem", 0o660 | 0o020000, os.makedev(1, 1)))
`,
  },
  {
    name: "input for a terminal",
    source: `
import fcntl, termios
for fd in (0, 1, 2):
    attempt("descriptor %d" % fd, lambda: fcntl.ioctl(fd, termios.TIOCSTI, b"x"))
attempt("a terminal", lambda: os.openpty())
`,
  },
  {
    name: "calls of another architecture",
    source: `
import mmap
if os.uname().machine == "x86_64":
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")  # mov eax, 20 (getpid of i386); int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    print("REACHED", ctypes.CFUNCTYPE(ctypes.c_int)(address)())
else:
    os.kill(os.getpid(), signal.SIGSYS)
`,
    ended: ["signalled"],
  },
  {
    name: "call numbers with odd bits",
    source: `
for number in (0x40000000 + 41, 0x40000000 + 101, 512, 1000, 2 ** 31 - 1):
    result = libc.syscall(ctypes.c_long(number), ctypes.c_long(2), ctypes.c_long(1), ctypes.c_long(0))
    if result >= 0: print("REACHED", number, result)
`,
  },
  {
    name: "taking its own filter off",
    source: `
if libc.prctl(22, 0, 0, 0, 0) == 0: print("REACHED seccomp off")
if libc.prctl(38, 0, 0, 0, 0) == 0: print("REACHED new privileges")
if libc.prctl(47, 2, 21, 0, 0) == 0: print("REACHED ambient capability")
if libc.prctl(28, 0, 0, 0, 0) == 0: print("REACHED secure bits")
attempt("a socket", lambda: call("socket", 2, 1, 0))
`,
  },
];

/** Programs that look for what they must not see, and write where they must not. */
import type { HostileProgram } from "./program.ts";

export const files: readonly HostileProgram[] = [
  { name: "a secret file", source: `attempt("the secret", lambda: open(SECRET).read())` },
  {
    name: "locks on files of the machine",
    source: `
import fcntl
attempt("a lock on a library", lambda: fcntl.flock(open(os.__file__), fcntl.LOCK_EX))
attempt("a lease of a library", lambda: fcntl.fcntl(open(os.__file__), 1024, fcntl.F_RDLCK))
print("made")
`,
    stdout: /made\n$/,
  },
  {
    name: "a secret file, by a link",
    source: `
attempt("a link to the secret", lambda: (os.symlink(SECRET, "link"), open("link").read()))
attempt("a hard link to the secret", lambda: (os.link(SECRET, "hard"), open("hard").read()))
`,
    given: { outputs: ["link", "hard"] },
    files: [],
  },
  {
    name: "links as outputs",
    source: `
os.symlink("/etc/passwd", "one.txt")
os.symlink(SECRET, "two.txt")
os.mkdir("sub")
os.symlink("/", "sub/root.txt")
os.symlink("..", "up")
print("made")
`,
    stdout: /^made\n$/,
    given: { outputs: ["*.txt", "**/*.txt", "up/**", "**"] },
    files: ["main.py"],
  },
  {
    name: "outputs that are no regular files",
    source: `
try: os.mkfifo("pipe.txt")
except OSError: pass
os.mkdir("folder.txt")
attempt("a device", lambda: os.mknod("device.txt", 0o666 | 0o020000, os.makedev(1, 3)))
`,
    given: { outputs: ["*.txt"] },
    files: [],
  },
  {
    name: "odd names of outputs",
    source: `
for name in ("a\\nb.txt", "c\\\\..\\\\d.txt", "..e.txt", "é.txt"):
    open(name, "w").close()
try: open(b"\\xff.txt", "w").close()
except OSError: pass
`,
    given: { outputs: ["*.txt"] },
    files: ["..e.txt", "a\nb.txt", "c\\..\\d.txt", "é.txt"],
  },
  {
    name: "unreadable outputs",
    source: `
open("locked.txt", "w").close()
try: os.chmod("locked.txt", 0)
except OSError: pass
`,
    given: { outputs: ["*.txt"] },
  },
  {
    name: "paths upwards",
    source: `
for depth in range(1, 12):
    up = "../" * depth
    attempt("the secret", lambda: open(up + SECRET.lstrip("/")).read())
    attempt("passwords", lambda: open(up + "etc/shadow").read())
`,
  },
  {
    name: "writes outside the workspace",
    source: `
for folder in ("/", "/usr/lib", "/etc", "/dev", "/proc", "/sys", "/root", "/home", "/var/tmp", os.path.dirname(SECRET), os.path.dirname(sys.executable), "/box"):
    attempt(folder, lambda: open(os.path.join(folder, "hostile-written"), "w").close())
    attempt("a folder in " + folder, lambda: os.mkdir(os.path.join(folder, "hostile-folder")))
`,
  },
  {
    name: "changes to what is there",
    source: `
for path in (SECRET, sys.executable, "/zygote/__main__.py", "/zygote/confinement.py", os.__file__, "/etc/ld.so.cache"):
    attempt("append to " + path, lambda: open(path, "a").write("x"))
    attempt("truncate " + path, lambda: os.truncate(path, 0))
    attempt("remove " + path, lambda: os.remove(path))
    attempt("rename " + path, lambda: os.rename(path, path + ".hostile"))
    attempt("mode of " + path, lambda: os.chmod(path, 0o777))
    attempt("times of " + path, lambda: os.utime(path, (0, 0)))
    attempt("owner of " + path, lambda: os.chown(path, 12345, 12345))
    attempt("attributes of " + path, lambda: os.setxattr(path, "user.hostile", b"x"))
`,
  },
  {
    name: "the process table",
    source: `
for path in ("/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline", "/proc/self/maps", "/proc/kcore", "/proc/sys/kernel/core_pattern", "/proc/%d/environ" % CALLER, "/proc/%d/mem" % CALLER, "/proc/%d/cwd/package.json" % CALLER, "/proc/%d/root/etc/passwd" % CALLER):
    attempt(path, lambda: open(path, "rb").read(1))
attempt("process numbers", lambda: any(name.isdigit() for name in os.listdir("/proc")) or False)
`,
  },
  {
    name: "descriptors of other processes",
    source: `
for pid in [*range(1, 20), os.getppid(), CALLER]:
    for fd in range(0, 10):
        attempt("descriptor", lambda: open("/proc/%d/fd/%d" % (pid, fd), "rb"))
`,
  },
  {
    name: "the environment",
    source: `
text = repr(dict(os.environ)) + repr(dict(os.environb))
if "TROUPE" in text or "SECRET" in text or "KEY" in text: print("REACHED", text)
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
at = 0
while environ and environ[at]:
    if b"TROUPE" in environ[at]: print("REACHED", environ[at])
    at += 1
`,
  },
  {
    name: "devices",
    source: `
for name in ("/dev/mem", "/dev/kmem", "/dev/kvm", "/dev/fuse", "/dev/sda", "/dev/vda", "/dev/tty", "/dev/ptmx", "/dev/nvidia0", "/dev/loop-control", "/dev/kmsg"):
    attempt(name, lambda: os.close(os.open(name, os.O_RDWR)))
`,
  },
  {
    name: "kernel settings",
    source: `
for name in ("/proc/sys/kernel/hostname", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/sys/power/state", "/proc/sysrq-trigger"):
    attempt(name, lambda: os.close(os.open(name, os.O_WRONLY)))
`,
  },
  {
    name: "what another program left",
    source: `
import glob
found = [name for folder in ("/tmp", "/dev/shm", "/workspace", "/box", ".") for name in glob.glob(folder + "/**", recursive=True)]
own = {"main.py"}
strange = [name for name in found if os.path.isfile(name) and os.path.basename(name) not in own]
if strange: print("REACHED", strange)
`,
  },
  {
    name: "memory of earlier programs",
    source: `
import gc
needle = "".join(["left ", "by the ", "program before"])
for one in gc.get_objects():
    if isinstance(one, (dict, list, tuple)) and len(one) < 10_000 and needle in repr(one) and one is not globals():
        if "needle" not in repr(one): print("REACHED", repr(one)[:100])
`,
  },
];

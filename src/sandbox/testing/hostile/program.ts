/** Hostile programs as data. hostile.slow.test.ts checks each. */
import { numberOf, type Machine, type SystemCall } from "../../local/system-calls.ts";
import type { Ending, Program } from "../../sandbox.ts";

export interface HostileProgram {
  readonly name: string;
  /**
   * Prints REACHED and what it reached if it did something forbidden. It can use the names of the prelude; its
   * arguments are the path of a secret file, a port with a listener, and the process that called the sandbox.
   */
  readonly source: string;
  /** How it may end. Default: any way except `cancelled`. */
  readonly ended?: readonly Ending[];
  /** What it must print unless it is stopped earlier. */
  readonly stdout?: RegExp;
  readonly given?: Partial<Pick<Program, "outputs" | "files" | "stdin">>;
  /** Of programs that only wait. Default: the common limit. */
  readonly wallSeconds?: number;
  /** Names of the returned files. Default: not checked. */
  readonly files?: readonly string[];
}

const calls: readonly SystemCall[] = [
  ...(["ptrace", "process_vm_readv", "memfd_create", "execveat", "io_uring_setup", "bpf", "keyctl"] as const),
  ...(["add_key", "userfaultfd", "perf_event_open", "mount", "umount2", "pivot_root", "chroot"] as const),
  ...(["unshare", "setns", "clone3", "clone", "open_by_handle_at", "personality", "kexec_load"] as const),
  ...(["init_module", "reboot", "sethostname", "settimeofday", "shmget", "shmat", "mq_open"] as const),
  ...(["quotactl", "syslog", "swapon", "iopl", "modify_ldt", "pidfd_open", "pidfd_getfd"] as const),
  ...([
    "pidfd_send_signal",
    "prlimit64",
    "setpriority",
    "fanotify_init",
    "inotify_init",
    "inotify_init1",
    "open_tree",
    "fsopen",
  ] as const),
  ...(["mknod", "mknodat", "acct", "socket", "socketpair", "kcmp", "move_pages", "vmsplice"] as const),
];

/** Prepended to each source: system calls by number, and `attempt`, which reports successes. */
export function preludeFor(machine: Machine): string {
  const numbers = Object.fromEntries(calls.map((call) => [call, numberOf(call, machine)]));
  return `
import ctypes, errno, os, signal, sys, time
SECRET, PORT, CALLER = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
NUMBERS = ${JSON.stringify(numbers).replaceAll("null", "None")}
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *given):
    if NUMBERS[name] is None:
        raise OSError(errno.ENOSYS, name)
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *[ctypes.c_long(one) if isinstance(one, int) else one for one in given])
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result
def attempt(what, action):
    try:
        result = action()
    except Exception as error:
        print("stopped:", what, type(error).__name__, flush=True)
        return
    if result is not False:
        print("REACHED", what, repr(result)[:200], flush=True)
`;
}

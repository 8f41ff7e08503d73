/**
 * The seccomp filter of programs, as BPF. System calls that reach rarely used parts of the kernel, other processes, the
 * network or namespaces fail with EPERM, as if the program lacked the privilege; calls newer than the list fail with
 * ENOSYS. Calls of another architecture kill.
 */
import { auditArchitecture, lastKnownCall, numberOf, type Machine, type SystemCall } from "./system-calls.ts";

/**
 * `namespaces`: a program can only reach processes of its own namespace. `threads`: it shares the user with other
 * programs, so it starts no process, signals only itself and changes no file that it has not opened for writing.
 */
export type FilterKind = "namespaces" | "threads";

/** The program's main process, and its group as `kill` has it; the zygote inserts the numbers. */
export const [ownProcess, ownGroup] = [0x7e570001, 0x7e570002];

const never: readonly SystemCall[] = [
  // other processes' memory and kernel internals
  ...(["ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise"] as const),
  ...(["process_mrelease", "perf_event_open", "bpf", "userfaultfd", "lookup_dcookie", "syslog"] as const),
  ...(["io_uring_setup", "io_uring_enter", "io_uring_register", "vmsplice", "personality"] as const),
  ...(["kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"] as const),
  ...(["iopl", "ioperm", "modify_ldt", "quotactl", "quotactl_fd", "acct", "swapon", "swapoff"] as const),
  ...(["reboot", "vhangup", "nfsservctl", "uselib", "_sysctl", "sysfs", "ustat"] as const),
  ...([
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "sethostname",
    "setdomainname",
  ] as const),
  ...(["add_key", "request_key", "keyctl"] as const),
  // what others do with the files that it can read
  ...(["inotify_init", "inotify_init1", "fanotify_init", "fanotify_mark"] as const),
  // mounts and namespaces
  ...(["mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "mount_setattr"] as const),
  ...(["fsopen", "fsconfig", "fsmount", "fspick", "open_by_handle_at", "name_to_handle_at"] as const),
  ...(["unshare", "setns"] as const),
  // memory outside the limits, and programs without a file
  ...(["memfd_create", "memfd_secret", "execveat", "mlock", "mlock2", "mlockall"] as const),
  ...(["mbind", "move_pages", "migrate_pages", "set_mempolicy", "set_mempolicy_home_node"] as const),
  ...(["shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop"] as const),
  ...(["msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend"] as const),
  ...(["mq_timedreceive", "mq_notify", "mq_getsetattr", "mknod", "mknodat"] as const),
  // the network
  ...(["socket", "connect", "bind", "listen", "accept", "accept4"] as const),
  // a timer can send any signal: see `endings`
  "timer_create",
];

const neverWithoutNamespaces: readonly SystemCall[] = [
  ...(["fork", "vfork", "execve", "rt_sigqueueinfo", "rt_tgsigqueueinfo"] as const),
  ...(["pidfd_open", "pidfd_send_signal", "setpriority", "ioprio_set", "get_robust_list"] as const),
  ...(["sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"] as const),
  // Landlock does not cover changes of a file's mode, owner, times or attributes; opened to be read is enough for its owner.
  ...([
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "truncate",
  ] as const),
  ...(["setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"] as const),
  ...(["utime", "utimes", "futimesat", "utimensat"] as const),
];

/** A condition on the low 32 bits of an argument: the kernel looks at no more of those below. */
interface Condition {
  readonly call: SystemCall;
  /** Only where another argument equals one of these. */
  readonly where?: { readonly argument: number; readonly values: readonly number[] };
  readonly argument: number;
  /** The bits that count. Default: all. */
  readonly mask?: number;
  /** Denied if it equals one of these, or none of these, or has one of these bits, or lacks one of them. */
  readonly denied: "equal" | "unequal" | "any-bit" | "no-bit";
  readonly values: readonly number[];
}

/** CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET. */
const newNamespaces = 0x7e020000;
const cloneThread = 0x00010000;
/** SIGCHLD. */
const childSignal = 17;
const unixFamily = 1;
/** SOCK_DGRAM, and SOCK_RAW, which becomes it; not SOCK_STREAM and SOCK_SEQPACKET. */
const datagrams = 2;
const [pushInput, consoleCommands] = [0x5412, 0x541c];
const [setOwner, setGroup] = [0x8901, 0x8902];
/** FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR. */
const fileFlagCommands = [0x40086602, 0x40046602, 0x401c5820];
/** F_SETOWN, F_SETSIG, F_SETOWN_EX: a file that becomes readable would signal another process. */
const ownerCommands = [8, 10, 15];
/** F_SETSIG: which signal it is. */
const setSignalCommand = 10;
/** F_NOTIFY: a signal for each use of a folder's files by others. */
const notifyCommand = 1026;
/** F_SETLEASE: whoever opens the file waits. */
const leaseCommand = 1024;
/** SO_SNDBUF, SO_RCVBUF, and both with force: what sockets hold counts as memory. */
const bufferSizes = [7, 8, 32, 33];
/** PR_SET_PDEATHSIG; PR_SET_DUMPABLE, which would hide its open files from the supervisor. */
const processOptions = [1, 4];

/**
 * SIGHUP, SIGINT, SIGQUIT, SIGKILL and SIGTERM, which people, systems and the kernel send, and what stops: SIGSTOP, SIGTSTP,
 * SIGTTIN, SIGTTOU. No program may send them to its main process, so that one that they ended or stopped was so from
 * outside, which is no result (ending.py). It may end processes that it started.
 */
const endings = [1, 2, 3, 9, 15, 19, 20, 21, 22];

const conditions: readonly Condition[] = [
  {
    call: "kill",
    where: { argument: 1, values: endings },
    argument: 0,
    denied: "equal",
    values: [ownProcess, ownGroup, 0, 2 ** 32 - 1],
  },
  { call: "tkill", argument: 1, denied: "equal", values: endings },
  { call: "tgkill", argument: 2, denied: "equal", values: endings },
  { call: "rt_sigqueueinfo", argument: 1, denied: "equal", values: endings },
  { call: "rt_tgsigqueueinfo", argument: 2, denied: "equal", values: endings },
  { call: "pidfd_send_signal", argument: 1, denied: "equal", values: endings },
  { call: "setsockopt", argument: 2, denied: "equal", values: bufferSizes },
  { call: "clone", argument: 0, denied: "any-bit", values: [newNamespaces] },
  // A process may choose the signal that its parent gets as it ends.
  { call: "clone", argument: 0, mask: 0xff, denied: "unequal", values: [0, childSignal] },
  { call: "socketpair", argument: 0, denied: "unequal", values: [unixFamily] },
  // Either end could send to any other local socket: `sendto` takes a path, which Landlock does not check.
  { call: "socketpair", argument: 1, denied: "any-bit", values: [datagrams] },
  { call: "prlimit64", argument: 0, denied: "unequal", values: [0] },
  { call: "ioctl", argument: 1, denied: "equal", values: [pushInput, consoleCommands] },
  { call: "fcntl", argument: 1, denied: "equal", values: [notifyCommand, leaseCommand, setSignalCommand] },
];

const conditionsWithoutNamespaces: readonly Condition[] = [
  { call: "clone", argument: 0, denied: "no-bit", values: [cloneThread] },
  { call: "kill", argument: 0, denied: "unequal", values: [ownProcess] },
  { call: "tgkill", argument: 0, denied: "unequal", values: [ownProcess] },
  { call: "tkill", argument: 0, denied: "unequal", values: [ownProcess] },
  { call: "fcntl", argument: 1, denied: "equal", values: ownerCommands },
  { call: "ioctl", argument: 1, denied: "equal", values: [setOwner, setGroup, ...fileFlagCommands] },
  { call: "prctl", argument: 0, denied: "equal", values: processOptions },
];

const [errorPermission, errorNotImplemented] = [1, 38];
const allow = 0x7fff0000;
const killProcess = 0x80000000;
const withError = (code: number): number => 0x00050000 | code;

/** BPF operations: load a word, keep some of its bits, compare, return. */
const [load, and, equal, greater, hasBit, answer] = [0x20, 0x54, 0x15, 0x25, 0x45, 0x06];
const [numberOffset, architectureOffset] = [0, 4];
const argumentOffset = (index: number): number => 16 + 8 * index;

/** Operation, jump if true, jump if false, operand. */
export type Instruction = readonly [number, number, number, number];

const ret = (what: number): Instruction => [answer, 0, 0, what];

export function filterFor(machine: Machine, kind: FilterKind): Instruction[] {
  const restricted = kind === "threads";
  const denied = restricted ? [...never, ...neverWithoutNamespaces] : never;
  const conditional = restricted ? [...conditions, ...conditionsWithoutNamespaces] : conditions;
  return [
    [load, 0, 0, architectureOffset],
    [equal, 1, 0, auditArchitecture[machine]],
    ret(killProcess),
    [load, 0, 0, numberOffset],
    [greater, 0, 1, lastKnownCall],
    ret(withError(errorNotImplemented)),
    // The C library then starts threads and processes with `clone`, whose flags a filter can read.
    ...whereCalled("clone3", machine, [ret(withError(errorNotImplemented))]),
    // Of libraries, which can be locked by whoever reads them. Those who lock their own files go without.
    ...whereCalled("flock", machine, [ret(withError(errorNotImplemented))]),
    ...denied.flatMap((call) => whereCalled(call, machine, [ret(withError(errorPermission))])),
    ...conditional.flatMap((condition) => whereCalled(condition.call, machine, checking(condition))),
    ret(allow),
  ];
}

/** Runs the instructions only if the call's number matches; they must leave the number loaded or return. */
function whereCalled(
  call: SystemCall,
  machine: Machine,
  instructions: readonly Instruction[],
): readonly Instruction[] {
  const number = numberOf(call, machine);
  return number === null ? [] : [[equal, 0, instructions.length, number], ...instructions];
}

function checking({ argument, mask, denied, values, where }: Condition): readonly Instruction[] {
  const deny = ret(withError(errorPermission));
  const jump = denied === "equal" || denied === "unequal" ? equal : hasBit;
  const denies = denied === "equal" || denied === "any-bit";
  const each = denies
    ? values.flatMap((value): Instruction[] => [[jump, 0, 1, value], deny])
    : [...values.map((value, at): Instruction => [jump, values.length - at, 0, value]), deny];
  const masked: readonly Instruction[] = mask === undefined ? [] : [[and, 0, 0, mask]];
  const check: readonly Instruction[] = [[load, 0, 0, argumentOffset(argument)], ...masked, ...each];
  return [...onlyWhere(where, check.length), ...check, [load, 0, 0, numberOffset]];
}

/** Skips the check unless the other argument has one of its values. */
function onlyWhere(where: Condition["where"], length: number): readonly Instruction[] {
  if (where === undefined) return [];
  const { argument, values } = where;
  const last = values.length - 1;
  return [
    [load, 0, 0, argumentOffset(argument)],
    ...values.map((value, at): Instruction => [equal, last - at, at === last ? length : 0, value]),
  ];
}

/** In the kernel's layout. */
export function encodeFilter(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(8 * program.length);
  program.forEach(([operation, whenTrue, whenFalse, operand], index) => {
    bytes.writeUInt16LE(operation, 8 * index);
    bytes.writeUInt8(whenTrue, 8 * index + 2);
    bytes.writeUInt8(whenFalse, 8 * index + 3);
    bytes.writeUInt32LE(operand, 8 * index + 4);
  });
  return bytes;
}

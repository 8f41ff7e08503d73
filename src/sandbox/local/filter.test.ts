/** The filter's decisions, evaluated by a small BPF interpreter; backends.test.ts and testing/hostile/ use the real kernel. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeFilter, filterFor, ownGroup, ownProcess, type Instruction } from "./filter.ts";
import { auditArchitecture, numberOf, type Machine, type SystemCall } from "./system-calls.ts";

interface Call {
  readonly architecture: number;
  readonly number: number;
  readonly arguments: readonly bigint[];
}

const [allowed, forbidden, unknown, killed] = [0x7fff0000, 0x00050001, 0x00050026, 0x80000000];

/** As the kernel evaluates it. */
function decide(program: readonly Instruction[], call: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.architecture, 4);
  call.arguments.forEach((value, index) => data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * index));
  let accumulator = 0;
  for (let at = 0; at < program.length; at++) {
    const [operation, whenTrue, whenFalse, operand] = program[at] as Instruction;
    if (operation === 0x06) return operand;
    if (operation === 0x20) accumulator = data.readUInt32LE(operand);
    else if (operation === 0x54) accumulator = (accumulator & operand) >>> 0;
    else at += jumps(operation, accumulator, operand) ? whenTrue : whenFalse;
  }
  throw new Error("the program does not end");
}

function jumps(operation: number, accumulator: number, operand: number): boolean {
  if (operation === 0x15) return accumulator === operand;
  if (operation === 0x25) return accumulator > operand;
  if (operation === 0x45) return (accumulator & operand) !== 0;
  throw new Error(`unknown operation ${operation}`);
}

const machines: readonly Machine[] = ["x86_64", "aarch64"];

describe.each(machines)("the filter of %s", (machine) => {
  const architecture = auditArchitecture[machine];
  const [plain, threads] = [filterFor(machine, "namespaces"), filterFor(machine, "threads")];
  const of = (program: readonly Instruction[], name: SystemCall, ...given: readonly number[]): number =>
    decide(program, { architecture, number: numberOf(name, machine) ?? -1, arguments: given.map(BigInt) });

  it("denies unneeded calls", () => {
    for (const name of [
      "ptrace",
      "mount",
      "unshare",
      "socket",
      "bpf",
      "io_uring_setup",
      "memfd_create",
    ] as const) {
      expect([of(plain, name), of(threads, name)]).toEqual([forbidden, forbidden]);
    }
  });

  it("has no locks on whole files, which programs and the machine would share", () => {
    for (const program of [plain, threads]) {
      expect(of(program, "flock", 3, 2)).toBe(unknown);
      // F_SETLEASE; F_SETLK is for files that a program may write.
      expect([of(program, "fcntl", 3, 1024), of(program, "fcntl", 3, 6)]).toEqual([forbidden, allowed]);
    }
  });

  it("keeps a program from killing or stopping its main process, whose end would look like one from outside", () => {
    for (const program of [plain, threads])
      for (const signal of [1, 2, 3, 9, 15, 19, 20, 21, 22]) {
        for (const target of [ownProcess, ownGroup, 0, -1])
          expect(of(program, "kill", target, signal)).toBe(forbidden);
        expect(of(program, "tkill", ownProcess, signal)).toBe(forbidden);
        expect(of(program, "tgkill", ownProcess, ownProcess, signal)).toBe(forbidden);
        expect(of(program, "pidfd_send_signal", 5, signal)).toBe(forbidden);
      }
    // Its own children, and every other signal.
    expect([of(plain, "kill", 77, 9), of(plain, "kill", ownProcess, 10)]).toEqual([allowed, allowed]);
    // The end of a child sends one, too.
    for (const signal of [0, 1, 9, 15, 16])
      expect(of(plain, "clone", 0x01200000 | signal)).toBe(signal === 0 ? allowed : forbidden);
    expect(of(plain, "clone", 0x01200011)).toBe(allowed);
    expect(of(plain, "timer_create", 0, 0, 0)).toBe(forbidden);
  });

  it("allows processes, but no namespaces; without namespaces only threads", () => {
    const [fork, thread, newUser, newNet] = [17, 0x3d0f00, 0x10000011, 0x40000011];
    expect([fork, thread, newUser, newNet].map((flags) => of(plain, "clone", flags))).toEqual([
      allowed,
      allowed,
      forbidden,
      forbidden,
    ]);
    expect([fork, thread, thread | newUser].map((flags) => of(threads, "clone", flags))).toEqual([
      forbidden,
      allowed,
      forbidden,
    ]);
    expect([of(plain, "clone3"), of(threads, "clone3")]).toEqual([unknown, unknown]);
  });

  it("lets a program without namespaces signal only itself", () => {
    for (const pid of [0, 1, -1, ownProcess + 1]) expect(of(threads, "kill", pid, 9)).toBe(forbidden);
    expect(of(threads, "kill", ownProcess, 10)).toBe(allowed);
    expect(of(threads, "tgkill", ownProcess, 5, 6)).toBe(allowed);
    expect(of(plain, "kill", 1, 9)).toBe(allowed);
    expect(of(threads, "fcntl", 0, 8, 1)).toBe(forbidden);
    expect(of(threads, "fcntl", 0, 3)).toBe(allowed);
    expect([1, 4, 15].map((option) => of(threads, "prctl", option))).toEqual([forbidden, forbidden, allowed]);
  });

  it("lets a program without namespaces change nothing about a file that it may only read", () => {
    for (const name of ["fchmod", "fchown", "fsetxattr", "fremovexattr", "utimensat"] as const)
      expect(of(threads, name)).toBe(forbidden);
    for (const setFlags of [0x40086602, 0x401c5820])
      expect(of(threads, "ioctl", 3, setFlags)).toBe(forbidden);
  });

  it("checks the arguments of partly allowed calls", () => {
    expect([1, 2, 16].map((family) => of(plain, "socketpair", family, 1))).toEqual([
      allowed,
      forbidden,
      forbidden,
    ]);
    expect([0, 1, 99].map((pid) => of(plain, "prlimit64", pid))).toEqual([allowed, forbidden, forbidden]);
    expect([0x5401, 0x5412].map((command) => of(plain, "ioctl", 0, command))).toEqual([allowed, forbidden]);
    for (const program of [plain, threads])
      expect([3, 1026].map((command) => of(program, "fcntl", 0, command))).toEqual([allowed, forbidden]);
  });

  it("has no sockets that send to others by name", () => {
    const closedOnExec = 0x80000;
    const [stream, datagram, raw, packets] = [1, 2, 3, 5].map((kind) => kind | closedOnExec);
    for (const program of [plain, threads])
      expect([stream, datagram, raw, packets].map((kind) => of(program, "socketpair", 1, kind ?? 0))).toEqual(
        [allowed, forbidden, forbidden, allowed],
      );
  });

  it("kills calls of other architectures, and rejects unknown new calls", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.nat(500), (other, number) => {
        fc.pre(other !== architecture);
        expect(decide(plain, { architecture: other, number, arguments: [] })).toBe(killed);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 457, max: 2 ** 31 }), (number) => {
        for (const program of [plain, threads])
          expect(decide(program, { architecture, number, arguments: [] })).toBe(unknown);
      }),
    );
  });

  it("allows no more without namespaces than with them", () => {
    const anyCall = fc.record({
      architecture: fc.constant(architecture),
      number: fc.nat(460),
      arguments: fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 6, maxLength: 6 }),
    });
    fc.assert(
      fc.property(anyCall, (call) => {
        expect(decide(plain, call) === allowed || decide(threads, call) !== allowed).toBe(true);
      }),
    );
  });

  it("fits the kernel's limit and its layout", () => {
    for (const program of [plain, threads]) {
      expect(program.length).toBeLessThan(4096);
      expect(program.every(([, yes, no]) => yes < 256 && no < 256)).toBe(true);
    }
    expect(encodeFilter([[0x15, 1, 2, 0x7e570001]])).toEqual(Buffer.from([0x15, 0, 1, 2, 1, 0, 0x57, 0x7e]));
  });
});

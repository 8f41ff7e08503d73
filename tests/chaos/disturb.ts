/** Ways to disturb a running command: its processes are killed or frozen, the machine is busy, a privilege is missing. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../../src/engines/tinker/testing/faulty-proxy.ts";
import { drawInt, type Generator } from "../../src/random.ts";

export interface Disturbance {
  /** For the report: `kills a child process`. */
  readonly name: string;
  /** What the command runs in, and its arguments before the command. */
  readonly within?: readonly string[];
  readonly env?: (random: Generator, folder: string) => Readonly<Record<string, string>>;
  /** Called before each trial. */
  readonly begin?: () => void;
  /** What happens to a request to the subject's service; `random` differs for each. */
  readonly fault?: (random: Generator) => Fault | null;
  /** How the subject's own program misbehaves (judge.ts, town-server.ts). */
  readonly habit?: string;
  /** Whether the subject's server is killed once, and started again. */
  readonly restarts?: true;
  /** Acts on the command's process until the signal is aborted. Resolves to how often it acted. */
  readonly during?: (pid: number, random: Generator, ended: AbortSignal) => Promise<number>;
  /** The command is given again after it was killed, or stopped with such a message. */
  readonly resumes?: RegExp;
  /** Why it cannot be done on this machine; null: it can. */
  readonly missing?: () => string | null;
}

export const undisturbed: Disturbance = { name: "none" };

const killing = (name: string, milliseconds: readonly [number, number]): Disturbance => ({
  name,
  during: (pid, random, ended) =>
    repeatedly(random, ended, milliseconds, () => {
      const children = descendantsOf(pid);
      const victim = children[drawInt(random, Math.max(1, children.length))];
      return victim !== undefined && signalled(victim, "SIGKILL");
    }),
});

/** A random process below the command's. */
export const kills = killing("kills a child process", [100, 700]);

/** For processes that take a second to start. */
export const killsRarely = killing("kills a child process now and then", [500, 1500]);

const ends = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGXCPU"] as const;

/** As people, systems and job schedulers do, or as if a process had a fault of its own. */
export const signals: Disturbance = {
  name: "sends signals to a child process",
  during: (pid, random, ended) =>
    repeatedly(random, ended, [100, 700], () => {
      const children = descendantsOf(pid);
      const victim = children[drawInt(random, Math.max(1, children.length))];
      const signal = ends[drawInt(random, ends.length)];
      return victim !== undefined && signal !== undefined && signalled(victim, signal);
    }),
};

/** Everything stops for longer than most limits on wall-clock time, as when a laptop is closed. */
export const freezes: Disturbance = {
  name: "freezes the command and its children",
  during: (pid, random, ended) =>
    repeatedly(random, ended, [300, 900], async () => {
      const all = [pid, ...descendantsOf(pid)];
      for (const each of all) signalled(each, "SIGSTOP");
      await delay(2500);
      for (const each of all.toReversed()) signalled(each, "SIGCONT");
      return true;
    }),
};

/** Only what it started stops: workers and services answer late. */
export const freezesChildren: Disturbance = {
  name: "freezes a child process",
  during: (pid, random, ended) =>
    repeatedly(random, ended, [200, 800], async () => {
      const children = descendantsOf(pid);
      const victim = children[drawInt(random, Math.max(1, children.length))];
      if (victim === undefined || !signalled(victim, "SIGSTOP")) return false;
      await delay(1500);
      signalled(victim, "SIGCONT");
      return true;
    }),
};

/** Other programs want every processor several times over. */
export const load: Disturbance = {
  name: "keeps the machine busy",
  async during(_pid, _random, ended) {
    const busy = Array.from({ length: 12 }, () =>
      spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
    );
    await untilAborted(ended);
    for (const each of busy) each.kill("SIGKILL");
    return busy.length;
  },
};

/** As in most containers: no user namespace can be created. */
export const withoutNamespaces: Disturbance = {
  name: "has no user namespaces",
  within: ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/"],
  missing() {
    const { status } = spawnSync("bwrap", [...(withoutNamespaces.within ?? []).slice(1), "true"]);
    return status === 0 ? null : "bubblewrap cannot be used here";
  },
};

/** Of five requests one meets the fault. */
const faulty = (name: string, fault: Fault): Disturbance => ({
  name,
  fault: (random) => (drawInt(random, 5) === 0 ? fault : null),
});

export const faults: readonly Disturbance[] = [
  faulty("loses requests", "lose request"),
  faulty("loses answers", "lose answer"),
  faulty("breaks off answers", "half answer"),
  faulty("garbles answers", "garbled answer"),
  faulty("gets requests twice", "twice"),
  faulty("is late", { milliseconds: 1500 }),
  faulty("answers with 429", { status: 429 }),
  faulty("answers with 500", { status: 500 }),
];

/** All requests after the first few fail. */
const dead = (name: string, fault: Fault, after: number): Disturbance => {
  let requests = 0;
  return { name, begin: () => void (requests = 0), fault: () => (requests++ < after ? null : fault) };
};

export const dies = (after: number): readonly Disturbance[] => [
  dead("always answers with 429", { status: 429 }, after),
  dead("rejects the key", { status: 401 }, after),
  dead("answers nonsense", "garbled answer", after),
];

export const habits = (...names: readonly string[]): readonly Disturbance[] =>
  names.map((habit) => ({ name: `the program ${habit}`, habit }));

export const killsServer: Disturbance = {
  name: "is killed and started again",
  restarts: true,
  resumes: /server/i,
};

/** The command itself is killed three times, and resumed. */
export const killsCommand: Disturbance = {
  name: "kills the command, which is resumed",
  resumes: /^$/,
  during: async (pid, random, ended) => {
    await delay(300 + drawInt(random, 1200), undefined, { signal: ended }).catch(() => {});
    return !ended.aborted && signalled(pid, "SIGKILL") ? 1 : 0;
  },
};

const failingDisk = path.join(import.meta.dirname, "..", "support", "failing-disk.c");
const { ENOSPC, EIO } = os.constants.errno;

/** One of the first 90 writes, flushes, renames and new folders fails; then the command is given again. */
export const fullDisk: Disturbance = {
  name: "has a disk that is full, or fails, once",
  resumes: /ENOSPC|EIO|no space|disk|i\/o error/i,
  env(random, folder) {
    const library = path.join(folder, "failing-disk.so");
    spawnSync("cc", ["-shared", "-fPIC", "-o", library, failingDisk, "-ldl"]);
    return {
      LD_PRELOAD: library,
      FAIL_BELOW: `${path.basename(folder)}/run`,
      FAIL_AT: String(1 + drawInt(random, 90)),
      FAIL_ERRNO: String(drawInt(random, 2) === 0 ? ENOSPC : EIO),
      FAIL_COUNT: path.join(folder, "writes"),
    };
  },
  missing: () => (spawnSync("cc", ["--version"]).status === 0 ? null : "there is no C compiler"),
};

/** As an ordinary user, who may still create namespaces. */
export const withoutRoot: Disturbance = {
  name: "runs without privileges",
  within: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
  env: () => ({ HOME: "/tmp" }),
  missing: () => (process.getuid?.() === 0 ? null : "only root can run programs as somebody else"),
};

export const wordKey: Disturbance = {
  name: "gets a key that is a word of its answers",
  env: () => ({ CHAOS_KEY: "none" }),
};

async function repeatedly(
  random: Generator,
  ended: AbortSignal,
  [shortest, longest]: readonly [number, number],
  act: () => boolean | Promise<boolean>,
): Promise<number> {
  let times = 0;
  for (;;) {
    await delay(shortest + drawInt(random, longest - shortest), undefined, { signal: ended }).catch(() => {});
    if (ended.aborted) return times;
    if (await act()) times += 1;
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // It has ended.
  }
}

/** All processes below this one, parents first. Linux only. */
export function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : null;
    if (parent !== null) parents.set(parent, [...(parents.get(parent) ?? []), Number(name)]);
  }
  const below = (one: number): number[] =>
    (parents.get(one) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

/** The name in parentheses may contain anything. */
function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return null;
  }
}

export function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  for (const each of [child.pid, ...descendantsOf(child.pid)]) signalled(each, "SIGKILL");
}

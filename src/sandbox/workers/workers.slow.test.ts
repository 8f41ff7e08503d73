/** Programs when workers die, when many wait, and when Troupe itself is killed. */
import { spawn, type ChildProcess } from "node:child_process";
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServiceError } from "../../errors.ts";
import { isRoot, ordinaryUser } from "../local/launches.ts";
import { ownBackends } from "../open.ts";
import type { Sandbox } from "../sandbox.ts";
import { allProcesses, openForTests, python, signalPrograms, statusOf } from "../testing.ts";
import { LostWorker, Worker } from "./worker.ts";

const tried = await Promise.all(
  ownBackends.map(async (backend) => {
    const opened = await openForTests(backend, { workers: 1 });
    const why = typeof opened === "string" ? `: ${opened}` : "";
    return [`${backend.name} (${backend.isolation})${why}`, opened] as const;
  }),
);

describe.each(tried)("%s", (_, opened) => {
  const sandbox = opened as Sandbox;
  const works = typeof opened !== "string";
  afterAll(() => (works ? sandbox.close() : undefined));

  describe.runIf(works)("a pool of workers", () => {
    it("replaces a worker that dies, and runs its program again", async () => {
      const running = sandbox.run(python("import time\ntime.sleep(1)\nprint('again')"));
      await killWorkers();
      expect(await running).toMatchObject({ ended: "exited", stdout: "again\n" });
    });

    it.each(signals)("is not misled by %s from outside", async (signal) => {
      const source = "import time\ntime.sleep(2)\nprint('again')";
      const running = sandbox.run(python(source));
      await signalPrograms(1, signal);
      expect(await running).toMatchObject({ ended: "exited", stdout: "again\n" });
    });

    it("replaces an idle worker that dies", async () => {
      await sandbox.run(python(""));
      await killWorkers();
      expect((await sandbox.run(python("print(1)"))).stdout).toBe("1\n");
    });

    it("tells a session that its worker died", async () => {
      const session = await sandbox.start(python("print('here', flush=True)\nimport time\ntime.sleep(60)"));
      const lines = session.lines[Symbol.asyncIterator]();
      expect((await lines.next()).value).toBe("here");
      await killWorkers();
      await expect(session.ended).rejects.toThrow(ServiceError);
      await expect(lines.next()).rejects.toThrow(ServiceError);
    });

    it("lets thousands of programs wait and be cancelled", async () => {
      const controller = new AbortController();
      const first = sandbox.run(python("print(1)"));
      const many = Array.from({ length: 5000 }, (__, index) =>
        sandbox.run(python(`import time; time.sleep(60) #${index}`), controller.signal),
      );
      expect((await first).stdout).toBe("1\n");
      controller.abort();
      const ended = new Set((await Promise.all(many)).map((result) => result.ended));
      expect(ended).toEqual(new Set(["cancelled"]));
      expect((await sandbox.run(python("print(2)"))).stdout).toBe("2\n");
    });
  });
});

const starting = (script: string): Promise<Worker> =>
  Worker.start({
    command: "/bin/sh",
    arguments: ["-c", script],
    environment: { PATH: "/usr/bin:/bin" },
    settings: () => ({ namespaces: false, filter: "", readable: [], scratch: "" }),
  });

describe("what starts a worker", () => {
  it.each(["HUP", "INT", "KILL", "TERM"])(
    "is lost if SIG%s ends it, whatever it leaves behind",
    async (name) => {
      await expect(starting(`sleep 600 & kill -${name} $$; wait`)).rejects.toThrow(LostWorker);
      await expect(starting(`(kill -${name} $(sh -c 'echo $PPID')); exit $?`)).rejects.toThrow(LostWorker);
    },
  );

  it("says why it does not work", async () => {
    const failure = await starting("echo no namespaces >&2; exit 70").catch((error: unknown) => error);
    expect(failure).not.toBeInstanceOf(LostWorker);
    expect((failure as Error).message).toContain("no namespaces");
  });
});

/** All processes of this process's sandboxes: the makers and the interpreters in them. */
async function killWorkers(): Promise<void> {
  await expect.poll(() => workersBelow(process.pid).length).toBeGreaterThan(0);
  for (const pid of workersBelow(process.pid)) process.kill(pid, "SIGKILL");
}

function workersBelow(root: number): readonly number[] {
  return allProcesses().filter(
    (pid) => statusOf(pid).parent === root && /zygote/.test(statusOf(pid).command),
  );
}

/** What people, systems and the kernel send. */
const signals = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGKILL",
  "SIGTERM",
  "SIGSEGV",
  "SIGABRT",
  "SIGXCPU",
] as const;

/** A process that runs many programs of a minute each; it prints a line when the first ones run. */
const manyPrograms = `
const { openSandbox } = await import(process.argv[1]);
const sandbox = await openSandbox({ workers: 2 });
const source = "print('runs', flush=True)\\nimport time\\ntime.sleep(60)";
const session = await sandbox.start({ language: "python", source });
const runs = Array.from({ length: 1000 }, () => sandbox.run({ language: "python", source }));
for await (const line of session.lines) console.log(line, process.getuid());
await Promise.all(runs);
`;

const openFile = path.join(import.meta.dirname, "..", "open.ts");

/** Whether others may read the checkout, so that an ordinary user can run it. */
function isReadableByAll(): boolean {
  try {
    accessSync(openFile, constants.R_OK);
    const folders = path.dirname(openFile).split(path.sep);
    return folders.every((__, index) => isOpen(folders.slice(0, index + 1).join(path.sep) || "/"));
  } catch {
    return false;
  }
}

function isOpen(folder: string): boolean {
  return (statSync(folder).mode & 0o005) === 0o005;
}

describe.runIf(tried.some(([, opened]) => typeof opened !== "string"))("a killed process", () => {
  let child: ChildProcess;
  let below: readonly number[] = [];

  const startAs = async (user: number | undefined): Promise<void> => {
    const who = user === undefined ? {} : { uid: user, gid: user };
    const given = ["--input-type=module", "-e", manyPrograms, openFile];
    child = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"], ...who });
    const [line] = await Promise.race([
      new Promise<[string]>((resolve) => child.stdout?.once("data", (data) => resolve([String(data)]))),
      new Promise<never>((__, reject) => child.once("exit", () => reject(new Error("it ended")))),
    ]);
    expect(line).toBe(`runs ${user ?? process.getuid?.()}\n`);
    below = descendants(child.pid ?? 0);
    expect(below.length).toBeGreaterThan(2);
  };

  const left = (): readonly number[] => below.filter(isAlive);

  beforeAll(() => {
    below = [];
  });

  it("ends with all of its programs", async () => {
    await startAs(undefined);
    child.kill("SIGKILL");
    await expect.poll(left, { timeout: 20_000 }).toEqual([]);
  });

  it.runIf(isRoot() && isReadableByAll())("runs programs as an ordinary user", async () => {
    await startAs(ordinaryUser);
    child.kill("SIGKILL");
    await expect.poll(left, { timeout: 20_000 }).toEqual([]);
  });
});

function descendants(root: number): number[] {
  const parents = new Map(allProcesses().map((pid) => [pid, statusOf(pid).parent] as const));
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && parent > 1 && (parent === root || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

/** A zombie has ended. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

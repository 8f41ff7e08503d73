/**
 * Runs every hostile program in every local backend that works here. After each, nothing forbidden was reached, no file
 * or process of it is left, and the next program runs normally.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { isDeepStrictEqual } from "node:util";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Ending, Limits, ProgramResult, Sandbox } from "../../sandbox.ts";
import { ownSandboxes, python } from "../../testing.ts";
import { preludeFor, type HostileProgram } from "./program.ts";
import { hostilePrograms } from "./table.ts";

const low = {
  wallSeconds: 4,
  cpuSeconds: 0.8,
  memoryBytes: 128 * 2 ** 20,
  outputBytes: 65_536,
  processes: 12,
  files: 64,
  diskBytes: 2 ** 21,
} satisfies Partial<Limits>;

const secret = "the secret of this machine";
const folder = mkdtempSync(path.join(tmpdir(), "troupe-hostile-"));
writeFileSync(path.join(folder, "secret"), secret, { mode: 0o644 });
process.env["TROUPE_HOSTILE_SECRET"] = secret;
let visits = 0;
const server = createServer((connection) => {
  visits++;
  connection.destroy();
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = server.address();
const port = typeof address === "object" && address !== null ? address.port : 0;

afterAll(() => {
  delete process.env["TROUPE_HOSTILE_SECRET"];
  server.close();
  rmSync(folder, { recursive: true });
});

const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
const prelude = preludeFor(machine);

const titled = await ownSandboxes({ workers: 1 });

it("there are at least sixty, each with its own name", () => {
  expect(new Set(hostilePrograms.map(({ name }) => name)).size).toBe(hostilePrograms.length);
  expect(hostilePrograms.length).toBeGreaterThanOrEqual(60);
});

describe.each(titled)("%s", (_, opened) => {
  const sandbox = opened as Sandbox;
  const works = typeof opened !== "string";
  afterAll(() => (works ? sandbox.close() : undefined));

  describe.runIf(works)("contains", () => {
    it.each(hostilePrograms.map((program) => [program.name, program] as const))(
      "%s",
      async (_name, program) => {
        const before = parentsBelow(process.pid);
        await sandbox.run(python("x = 'left by the program before'\nopen('/tmp/left', 'w').write(x)"));
        const result = await runIn(sandbox, program);
        expect(problemsOf(program, result)).toEqual([]);
        await expectUnharmed(before);
        const next = await sandbox.run(python("print(sum(range(10)))"));
        expect(next).toMatchObject({ ended: "exited", exitCode: 0, stdout: "45\n", stderr: "" });
      },
    );
  });
});

/** What is wrong with a result, completely, for the message. */
function problemsOf({ ended, stdout, files }: HostileProgram, result: ProgramResult): string[] {
  const told = `${result.ended} ${result.exitCode} ${result.signal}\n${result.stdout}\n${result.stderr}`;
  const names = Object.keys(result.files).toSorted((left, right) => (left < right ? -1 : 1));
  const checks: Readonly<Record<string, boolean>> = {
    "it reached something": !told.includes("REACHED"),
    "it read the secret": !JSON.stringify(result).includes(secret),
    "it ended in another way": (ended ?? anyEnding).includes(result.ended),
    // If it may not start processes, it ends early with an exception.
    "it printed something else": stdout === undefined || result.exitCode === 1 || stdout.test(result.stdout),
    "it left other files": files === undefined || isDeepStrictEqual(names, files),
  };
  return Object.entries(checks).flatMap(([problem, fine]) =>
    fine ? [] : [`${problem}: ${names.join(" ")} ${told}`],
  );
}

const anyEnding: readonly Ending[] = [
  "exited",
  "signalled",
  "wall-time",
  "cpu-time",
  "memory",
  "output",
  "disk",
];

function runIn(sandbox: Sandbox, program: HostileProgram): ReturnType<Sandbox["run"]> {
  const { source, given, wallSeconds = low.wallSeconds } = program;
  const told = [path.join(folder, "secret"), String(port), String(process.pid)];
  return sandbox.run(
    python(prelude + source, { arguments: told, limits: { ...low, wallSeconds }, ...given }),
  );
}

async function expectUnharmed(before: ReadonlyMap<number, number>): Promise<void> {
  expect(readdirSync(folder)).toEqual(["secret"]);
  expect(readFileSync(path.join(folder, "secret"), "utf8")).toBe(secret);
  expect(visits).toBe(0);
  for (const place of ["/", "/usr/lib", "/etc", "/dev", "/var/tmp", "/root", "/home", "/tmp"]) {
    expect(existsSync(path.join(place, "hostile-written"))).toBe(false);
    expect(existsSync(path.join(place, "hostile-folder"))).toBe(false);
  }
  // Ended processes may still be exiting; a worker that a program killed is replaced.
  const strange = (): readonly string[] =>
    [...parentsBelow(process.pid)]
      .filter(([pid]) => !before.has(pid))
      .filter(([pid, parent]) => !isWorker(pid) && !isWorker(parent))
      .map(([pid]) => `${pid} ${commandOf(pid)}`);
  await expect.poll(strange, { timeout: 20_000 }).toEqual([]);
}

/** What creates a sandbox: the parent of its interpreter. */
function isWorker(pid: number): boolean {
  return /^\S*(launcher|bwrap) /.test(commandOf(pid));
}

/** Processes below this one, through all namespaces, with their parents. */
function parentsBelow(root: number): Map<number, number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    const stat = readIfThere(`/proc/${name}/stat`);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended.
    if (fields[0] !== "Z") parents.set(Number(name), Number(fields[1]));
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || isBelow(parent));
  };
  return new Map([...parents].filter(([pid]) => isBelow(pid)));
}

function commandOf(pid: number): string {
  return readIfThere(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

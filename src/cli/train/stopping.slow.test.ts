/** Real processes that are blocked in every way, and the signals that must end them. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folderWith, moduleRecipe } from "../testing/folder.ts";

const program = fileURLToPath(new URL("../../../bin/troupe.js", import.meta.url));

/** Blocks where `at` says, as `how` says, once it has written a file that tells so. */
const blocking = `import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
const block = async (how) => {
  writeFileSync("blocked", "");
  // Blocks the only thread of JavaScript, one of the threads that Node waits for at its end, or nothing.
  if (how === "loop") for (;;);
  if (how === "thread") await readFile("pipe");
  await new Promise(() => setInterval(() => {}, 1000));
};
export default {
  name: "blocking", summary: "", options: { parse: (given) => given },
  create: ({ at, how }) => ({
    name: "blocking",
    seats: { one: { purpose: "x", prompt: "x", maxTokens: 2 } },
    tasks: Object.fromEntries(["train", "heldOut"].map((split) => [split, {
      size: 1000,
      at: (index) => (at === split ? block(how).then(() => ({ index })) : { index }),
    }])),
    start: async (task) => { if (at === "start") await block(how); return task; },
    observe: () => "x",
    step: async (state) => {
      if (at === "step") await block(how);
      return { state, rewards: { one: { team: 0, local: 0, parts: {}, reason: "" } }, done: true };
    },
    outcome: () => ({ success: false, score: 0 }),
    render: () => "x",
    oracle: { words: ["x"], solve: () => "x" },
  }),
};`;

const recipe = (at: string, how: string, changes: object = {}): string =>
  moduleRecipe("blocking", { module: "./blocking.mjs", at, how }, changes);

const cwd = folderWith({ "blocking.mjs": blocking });
execFileSync("mkfifo", [join(cwd, "pipe")]);

/** A training that is blocked now. */
async function blocked(at: string, how: string): Promise<ChildProcess> {
  await writeFile(join(cwd, "blocking.yaml"), recipe(at, how));
  await rm(join(cwd, "blocked"), { force: true });
  await rm(join(cwd, "runs"), { recursive: true, force: true });
  const child = spawn(process.execPath, [program, "train", "blocking.yaml"], { cwd, stdio: "ignore" });
  while (!existsSync(join(cwd, "blocked")) && child.exitCode === null) await wait(20);
  expect(child.exitCode).toBeNull();
  return child;
}

/** The exit code; the test's own time limit catches a process that never ends. */
async function codeOf(child: ChildProcess): Promise<number | null> {
  const [code] =
    child.exitCode === null ? ((await once(child, "exit")) as [number | null]) : [child.exitCode];
  return code;
}

/** Two presses, far enough apart to count as two. */
async function pressTwice(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await wait(700);
  child.kill(signal);
}

describe.skipIf(process.platform === "win32")("signals", { timeout: 120_000 }, () => {
  it.each([
    ["heldOut", "loop"],
    ["train", "thread"],
    ["start", "promise"],
    ["step", "loop"],
  ])("Ctrl-C twice ends a training blocked in `%s` by a %s", async (at, how) => {
    const child = await blocked(at, how);
    await pressTwice(child, "SIGINT");
    expect(await codeOf(child)).toBe(130);
  });

  it("one SIGTERM ends a process that does not notice it", async () => {
    const child = await blocked("step", "loop");
    child.kill("SIGTERM");
    expect(await codeOf(child)).toBe(130);
  });
});

it.each([
  ["stdout", ["--json"]],
  ["stderr", []],
] as const)(
  "a training whose %s nobody reads any more (`| head`) stops and is not done",
  async (stream, flags) => {
    const train = { steps: 500, tasksPerStep: 1, learningRate: 0.001 };
    await writeFile(join(cwd, "piped.yaml"), recipe("nowhere", "never", { train }));
    const child = spawn(process.execPath, [program, "train", "piped.yaml", "--run", stream, ...flags], {
      cwd,
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (more: string) => (said += more));
    child.stdout.resume();
    child[stream].once("data", () => child[stream].destroy());
    const code = await codeOf(child);
    expect({ code, said }).toMatchObject({ code: 130 });
    const told = /^nobody reads the output any more: stopping .*\nstopped after /m.test(said);
    expect(told).toBe(stream === "stdout");
  },
  120_000,
);

/** One SIGTERM in every phase of a training, in a real process: it ends by itself, and resumed it ends the same. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { recordsOf } from "../../train/testing/records-of.ts";
import { runCommand } from "../testing/command.ts";
import { folderWith, moduleRecipe } from "../testing/folder.ts";

const program = fileURLToPath(new URL("../../../bin/troupe.js", import.meta.url));

/** Waits for ever, whatever is aborted, in the phase that the file `wait` names; `waiting` then tells so. */
const gate = `import { existsSync, readFileSync, writeFileSync } from "node:fs";
export async function gate(phase) {
  if (!existsSync("wait") || readFileSync("wait", "utf8") !== phase) return;
  writeFileSync("waiting", "");
  await new Promise(() => setInterval(() => {}, 1000));
}`;

const environment = `import { gate } from "./gate.mjs";
const tasks = (split) => ({ size: 100, at: async (index) => (await gate(split), { index, turn: 0 }) });
export default {
  name: "gated", summary: "", options: { parse: (given) => given },
  create: () => ({
    name: "gated",
    seats: { one: { purpose: "x", prompt: "x", maxTokens: 4 } },
    tasks: { train: tasks("train"), heldOut: tasks("heldOut") },
    start: async (task) => (await gate("start"), task),
    observe: () => "x y",
    step: async (state) => {
      await gate("step");
      return { state, rewards: { one: { team: state.index % 2, local: 0, parts: {}, reason: "" } }, done: true };
    },
    outcome: () => ({ success: false, score: 0 }),
    render: () => "x",
    oracle: { words: ["x", "y"], solve: () => "y" },
  }),
};`;

/** Scores by the length of the answer, after waiting like the environment. */
const judge = `import { createInterface } from "node:readline";
import { gate } from "./gate.mjs";
await gate("judge");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, reply } = JSON.parse(line);
  console.log(JSON.stringify({ id, score: (reply.text.length % 5) / 4 }));
}`;

const recipe = moduleRecipe(
  "gated",
  { module: "./gated.mjs" },
  {
    algorithm: { name: "grpo", samples: 2, reward: "rewards" },
    judge: { name: "command", run: ["node", "judge.mjs"], fills: "all" },
    train: { steps: 3, tasksPerStep: 2, learningRate: 0.001 },
    evaluation: { tasks: 2, every: 2 },
    checkpoint: { every: 10 },
  },
);
const cwd = folderWith({
  "gate.mjs": gate,
  "gated.mjs": environment,
  "judge.mjs": judge,
  "gated.yaml": recipe,
});

const train = (run: string) => ["train", "gated.yaml", "--run", run];

/** In a process of its own, with a SIGTERM once it waits. */
async function stopped(run: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const child = spawn(process.execPath, [program, ...train(run)], { cwd });
  const exited = once(child, "exit") as Promise<[number | null]>;
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (more: string) => (said += more));
  while (!existsSync(join(cwd, "waiting")) && child.exitCode === null) await wait(20);
  child.kill("SIGTERM");
  const [code] = await exited;
  return { code, said };
}

describe.skipIf(process.platform === "win32")("one SIGTERM", { timeout: 120_000 }, () => {
  it.each(["heldOut", "train", "start", "step", "judge"])(
    "ends a training that waits in `%s`, and a resumed one ends the same",
    async (phase) => {
      if (!existsSync(join(cwd, "runs"))) await runCommand(train("whole"), { cwd });
      await writeFile(join(cwd, "wait"), phase);
      await rm(join(cwd, "waiting"), { force: true });
      const { code, said } = await stopped(phase);
      expect({ code, said }).toMatchObject({ code: 130 });
      expect(said).toMatch(/^SIGTERM: stopping and saving.*\n(.*\n)*stopped after no step/m);
      await rm(join(cwd, "wait"));
      expect(await runCommand(train(phase), { cwd })).toMatchObject({ code: 0 });
      expect(await recordsOf(join(cwd, "runs", phase))).toEqual(await recordsOf(join(cwd, "runs", "whole")));
    },
  );
});

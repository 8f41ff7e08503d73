/** "Continue from here", on a run of a few seconds. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ContinueEvent, ContinueRequest } from "../../view/api.ts";
import { ViewedRun } from "../../view/run.ts";
import { runCommand } from "../testing/command.ts";
import { folderWith, scoutRecipe } from "../testing/folder.ts";
import { continueFrom } from "./continue.ts";

const cwd = folderWith({
  "tiny.yaml": scoutRecipe("tiny", {
    warmStart: null,
    train: { steps: 2, tasksPerStep: 2, learningRate: 0.001, minibatches: 1 },
    evaluation: { tasks: 2 },
    checkpoint: { every: 1, keep: 5 },
    record: { training: { perStep: "all" } },
  }),
});
let run: ViewedRun;
beforeAll(async () => {
  const { code, stderr } = await runCommand("train tiny.yaml", { cwd });
  if (code !== 0) throw new Error(stderr);
  run = new ViewedRun("tiny", join(cwd, "runs", "tiny"));
});
afterAll(() => run.close());

async function continued(request: Partial<ContinueRequest>): Promise<ContinueEvent[]> {
  const events: ContinueEvent[] = [];
  const { signal } = new AbortController();
  const whole = { episode: "train/1/0", node: "", samples: 2, ...request };
  await continueFrom(run, whole, (event) => events.push(event), signal);
  return events;
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder, { recursive: true })).toSorted();
  return Promise.all(names.map(async (name) => `${name} ${(await stat(join(folder, name))).mtimeMs}`));
}

it("plays on with the newest weights, or those after a step, and changes nothing in the run", async () => {
  const before = await filesOf(run.directory);
  const events = await continued({});
  expect(events.map(({ type }) => type)).toEqual(["loading", "playing", "episode", "episode", "done"]);
  // Evaluations are greedy here, and many continuations would be one: they are sampled as in training.
  expect(events[1]).toEqual({ type: "playing", step: 2, temperature: 1 });
  expect(events.at(-1)).toMatchObject({ ends: 2, interval: { low: expect.any(Number) } });
  expect((await continued({ step: 1, samples: 1 }))[1]).toMatchObject({ step: 1 });
  expect(await filesOf(run.directory)).toEqual(before);
});

it("keeps the way to the state, and the same request gives the same continuation", async () => {
  const { nodes } = await run.episode("train/1/0", {});
  const from = nodes.find(({ parent, done }) => parent === "" && !done);
  const [first, second] = [
    await continued({ node: from?.id ?? "" }),
    await continued({ node: from?.id ?? "" }),
  ];
  expect(first).toEqual(second);
  const views = first.flatMap((event) => (event.type === "episode" ? [event.episode] : []));
  expect(views).toHaveLength(2);
  for (const view of views) {
    expect(view.nodes.slice(0, 2).map(({ id }) => id)).toEqual(["", from?.id]);
    expect(view.nodes.at(-1)?.done).toBe(true);
  }
});

it("greedily there is one", async () => {
  const events = await continued({ greedy: true, samples: 5 });
  expect(events.filter(({ type }) => type === "episode")).toHaveLength(1);
  expect(events[1]).toMatchObject({ temperature: 0 });
  expect(events.at(-1)).not.toHaveProperty("interval");
});

it("says that an episode has ended, or that there is no such state", async () => {
  const { ends } = await run.episode("train/1/0", {});
  await expect(continued({ node: ends[0]?.node ?? "" })).rejects.toThrow("there is nothing to play");
  await expect(continued({ episode: "train/9/9" })).rejects.toThrow("keeps no episode train/9/9");
});

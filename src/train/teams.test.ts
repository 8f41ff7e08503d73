/** A warm start of base models, on the real engine. */
import fs from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { openEngine } from "../engines/open.ts";
import type { Recipe, RecipeInput } from "../recipes/schema.ts";
import type { RunResult } from "../runs/records.ts";
import { readMetrics } from "../runs/read.ts";
import { basesOf, sftModels, warmStartRecipe } from "./teams.ts";
import type { TrainEvent } from "./events.ts";
import type { Resolved } from "./state.ts";
import { recordsOf } from "./testing/records-of.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import { train } from "./run.ts";

const root = temporaryFolder();

const warmStart = { steps: 3, demonstrationsPerStep: 4, learningRate: 0.003 };
const adapter = { rank: 2, alpha: 4 };
const evaluation = { tasks: 3 };

const role = (policy: string) => ({ policy, prompt: "", maxTokens: 8 });

function perRole(changes: Partial<RecipeInput> = {}, policy: object = {}): Resolved {
  const nano = { model: { preset: "nano" }, ...policy };
  return tinyRecipe({
    team: {
      roles: { scout: role("scout"), planner: role("planner") },
      phases: [["scout"], ["planner"]],
      turns: 2,
    },
    policies: { scout: nano, planner: nano },
    warmStart: { ...warmStart, teach: "bases" },
    train: { steps: 2, tasksPerStep: 2, learningRate: 0.001 },
    evaluation,
    ...changes,
  });
}

interface Trained {
  readonly directory: string;
  readonly result: RunResult;
  readonly events: readonly TrainEvent[];
}

async function trainIn(name: string, resolved: Resolved, stopEveryStep = false): Promise<Trained> {
  const directory = path.join(root, name, "run");
  const events: TrainEvent[] = [];
  for (;;) {
    const engine = openEngine({ threads: 1, precision: "float32" });
    const stop = new AbortController();
    const onEvent = (event: TrainEvent) => {
      events.push(event);
      if (stopEveryStep && event.type === "step") stop.abort();
    };
    try {
      const outcome = await train({ ...resolved, directory, engine, onEvent, stop: stop.signal });
      if (outcome.status === "finished") return { directory, result: outcome.result, events };
    } finally {
      await engine.close();
    }
  }
}

const saved = (location: string) =>
  ({ kind: "snapshot", location, version: 3, directory: location }) as const;
const weights = (...parts: string[]) => fs.readFile(path.join(...parts, "model.safetensors"));
const before = ({ result }: Trained) => ({ ...result.table.find(({ moment }) => moment === "before") });

describe("every level of sharing starts from the same weights", () => {
  let adapters: Trained;
  beforeAll(async () => {
    adapters = await trainIn("adapters", perRole({}, { adapter }));
  });

  test("a shared policy, policies per role and adapters per role", async () => {
    const shared = await trainIn(
      "shared",
      tinyRecipe({ warmStart, evaluation, train: perRole().recipe.train }),
    );
    const whole = await trainIn("whole", perRole());
    const taught = await weights(shared.directory, "checkpoints", "step-3", "shared");
    for (const other of [whole, adapters]) {
      expect(await weights(other.directory, "models", "nano-taught")).toEqual(taught);
      expect(before(other)).toEqual(before(shared));
    }
    const last = path.join(whole.directory, "checkpoints", "step-5");
    const ends = [taught, await weights(last, "scout"), await weights(last, "planner")];
    expect(new Set(ends.map((end) => end.toString("base64"))).size).toBe(3);
    expect(Object.keys(whole.result.policies)).toEqual(["scout", "planner"]);
    const { scout } = adapters.result.policies;
    expect(scout?.trainableParameters).toBeLessThan(scout?.parameters ?? 0);
    const steps = await readMetrics(adapters.directory);
    expect(steps.map(({ policies }) => Object.keys(policies).join())).toEqual([
      ...Array.from({ length: 3 }, () => "nano"),
      ...Array.from({ length: 2 }, () => "scout,planner"),
    ]);
  });

  test("stopped after every step and resumed, the run ends with the same files", async () => {
    const files = Object.entries(await recordsOf(adapters.directory));
    // Adapter directories name the folder of their base, so both runs must have the same path.
    await fs.rename(adapters.directory, path.join(root, "moved"));
    const parts = await trainIn("adapters", perRole({}, { adapter }), true);
    expect(parts.events.filter(({ type }) => type === "interrupted").length).toBeGreaterThanOrEqual(4);
    const again = await recordsOf(parts.directory);
    // A stop makes a checkpoint, so other older ones are kept.
    const compared = files.filter(([name]) => !/checkpoints\/step-[1-4]\b/.test(name));
    expect(compared.length).toBeGreaterThan(10);
    for (const [name, contents] of compared) expect([name, again[name]]).toEqual([name, contents]);
  });
});

describe("which model a policy starts from", () => {
  const own = { model: { path: "somewhere/mine" } };

  test("models are named by preset or folder; a name that is taken gets a number", () => {
    const { recipe } = perRole({
      policies: { scout: { model: { preset: "nano" } }, planner: { model: { path: "other/nano" } } },
    });
    expect([...basesOf(recipe)]).toEqual([
      ["scout", "nano"],
      ["planner", "nano-2"],
    ]);
    expect(warmStartRecipe(recipe).policies).toEqual({
      nano: { model: { preset: "nano" } },
      "nano-2": { model: { path: "other/nano" } },
    });
    expect(rolePolicies(warmStartRecipe(recipe))).toEqual(["nano", "nano-2"]);
    const taught = { nano: saved("one"), "nano-2": saved("two") };
    expect(Object.fromEntries(sftModels(recipe, "models", taught))).toEqual({
      scout: { saved: taught.nano, folder: "models" },
      planner: { saved: taught["nano-2"], folder: "models" },
    });
    expect(() => sftModels(recipe, "models", {})).toThrow("location of nano after the warm start");
  });

  test("a frozen role's own model is unchanged", () => {
    const { team, ...rest } = perRole().recipe;
    const scout = { ...team.roles["scout"], policy: "scout", frozen: true };
    const planner = { ...team.roles["planner"], policy: "planner" };
    const { recipe } = tinyRecipe({
      ...rest,
      team: { ...team, roles: { scout, planner } },
      policies: { scout: own, planner: { model: { preset: "nano" } } },
    });
    expect([...basesOf(recipe)]).toEqual([["planner", "nano"]]);
    expect(rolePolicies(warmStartRecipe(recipe))).toEqual(["scout", "nano"]);
  });

  test("nothing changes if the warm start trains the policies, or there is none", () => {
    for (const changes of [{ warmStart }, { warmStart: undefined }]) {
      const { recipe } = perRole(changes);
      expect(basesOf(recipe).size).toBe(0);
      expect(warmStartRecipe(recipe)).toEqual(recipe);
      expect(sftModels(recipe, "models", {}).size).toBe(0);
    }
  });
});

function rolePolicies({ team }: Recipe): string[] {
  return Object.values(team.roles).map(({ policy }) => policy);
}

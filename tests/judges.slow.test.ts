/** Runs without rewards from the environment: verdicts train, and actions without one train nothing. */
import { writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Engine } from "../src/engines/engine.ts";
import { openEngine } from "../src/engines/open.ts";
import { readEvaluations, readMetrics } from "../src/runs/read.ts";
import type { StepMetrics } from "../src/runs/records.ts";
import { mean, sum } from "../src/statistics.ts";
import type { TrainEvent } from "../src/train/events.ts";
import type { Resolved } from "../src/train/state.ts";
import { train } from "../src/train/run.ts";
import { HashEngine } from "../src/train/testing/hash-engine.ts";
import { wordsOf } from "../src/train/testing/tiny-recipe.ts";
import { echo } from "./support/echo.ts";
import { echoJudge, echoJudgeProgram, silentEcho, silentRecipe } from "./support/silent-echo.ts";

let root = "";
beforeAll(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-judged-"));
});
afterAll(() => fs.rm(root, { recursive: true }));

async function folder(name: string): Promise<string> {
  return fs.mkdtemp(path.join(root, `${name}-`));
}

const localEngine = (): Engine => openEngine({ threads: 1 });
/** What is no question of learning needs no model. */
const hashEngine = (): Engine =>
  new HashEngine({ vocabularySize: wordsOf({ environment: echo }).length + 6, endToken: 2 });

async function trained(resolved: Resolved, directory?: string, engine = hashEngine()) {
  const run = directory ?? (await folder("run"));
  const events: TrainEvent[] = [];
  try {
    const outcome = await train({
      ...resolved,
      directory: run,
      engine,
      onEvent: (event) => events.push(event),
    });
    return { outcome, events, metrics: await readMetrics(run), evaluations: await readEvaluations(run) };
  } finally {
    await engine.close();
  }
}

/** Ids of the questions in each start of the judge. */
async function asked(judge: string): Promise<string[][]> {
  const text = await fs.readFile(path.join(judge, "asked"), "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [line.split(" ")]));
}

function rewardOf({ rollout }: StepMetrics): number {
  return mean(Object.values(rollout?.roles ?? {}).map(({ local }) => local ?? Number.NaN));
}

describe("a team rewarded only by a judge", () => {
  // Measured: from 0.15 to 0.86 with at-grpo, whose judge is asked during the episode, and with reinforce, whose judge
  // is asked at its end.
  it.each([
    ["at-grpo", { samples: 8 }],
    ["reinforce", { samples: 8, reward: "action", baseline: "batch" }],
  ])(
    "learns, with %s %o",
    async (name, options) => {
      const judge = await folder("judge");
      const changes = {
        train: { steps: 12, tasksPerStep: 12, learningRate: 0.003 },
        judge: echoJudge(judge),
        checkpoint: { every: 1000 },
      };
      const { metrics, evaluations } = await trained(
        silentRecipe(changes, name, options),
        undefined,
        localEngine(),
      );
      const rewards = metrics.map(rewardOf);
      expect(mean(rewards.slice(-3)) - mean(rewards.slice(0, 3))).toBeGreaterThan(0.4);
      for (const { rollout } of metrics) expect(rollout).not.toHaveProperty("unrewarded");
      for (const evaluation of evaluations) expect(evaluation).not.toHaveProperty("judged");
      const ids = (await asked(judge)).flat();
      expect(new Set(ids).size).toBe(ids.length);
    },
    120_000,
  );

  it("is trained like one with the same rewards from the environment", async () => {
    const changes = { judge: echoJudge(await folder("judge")) };
    const judged = await trained(silentRecipe(changes));
    // The judge's score is the whole reward, so the environment's other part is omitted.
    const local: typeof echo = {
      ...echo,
      step: async (state, replies, context) => {
        const result = await echo.step(state, replies, context);
        const rewards = Object.entries(result.rewards).map(([seat, reward]) => {
          return [seat, reward && { ...reward, team: 0, parts: { judge: reward.local } }] as const;
        });
        return { ...result, rewards: Object.fromEntries(rewards) };
      },
    };
    const paid = await trained({ ...silentRecipe({}), environment: local });
    const rest = judged.metrics.map(({ services, ...others }) => {
      expect(services).toEqual({ judge: expect.objectContaining({ calls: expect.any(Number) }) });
      return others;
    });
    expect(rest).toEqual(paid.metrics);
    expect(judged.evaluations).toEqual(paid.evaluations);
  });
});

describe("verdicts that fail", () => {
  it("exclude their actions, and are counted", async () => {
    const run = [process.execPath, echoJudgeProgram, "moody"];
    const judge = echoJudge(await folder("judge"), { run, evaluation: true });
    const changes = { judge, failures: { limit: 0.5 } };
    const { outcome, metrics, evaluations } = await trained(
      silentRecipe(changes, "reinforce", { reward: "action" }),
    );
    const inTraining = metrics.map(({ rollout }) => rollout?.unjudged ?? 0);
    expect(Math.min(...inTraining)).toBeGreaterThan(0);
    metrics.forEach(({ rollout }, step) => {
      expect(rollout?.unrewarded).toBe(inTraining[step]);
      const actions = sum(Object.values(rollout?.roles ?? {}).map((role) => role.actions));
      expect(inTraining[step]).toBeLessThan(actions / 2);
    });
    for (const evaluation of evaluations) {
      expect(evaluation.judged).toBeGreaterThan(0);
      expect(evaluation.judged).toBeLessThan(1);
    }
    expect(outcome).toMatchObject({
      status: "finished",
      result: {
        unrewardedActions: sum(inTraining),
        unjudgedActions: sum([...inTraining, ...evaluations.map(({ unjudged }) => unjudged ?? 0)]),
      },
    });
  });

  it("stop the run above the limit, and it resumes as if nothing had happened", async () => {
    const [judge, run] = [await folder("judge"), await folder("run")];
    const whole = await trained(
      silentRecipe({ judge: echoJudge(await folder("judge")) }),
      undefined,
      localEngine(),
    );
    const down = path.join(judge, "down");
    const guard = `
      if (require("node:fs").existsSync("down")) { console.error("the model is out of reach"); process.exit(1); }
      import(${JSON.stringify(echoJudgeProgram)});`;
    const guarded = silentRecipe({ judge: echoJudge(judge, { run: [process.execPath, "-e", guard] }) });
    const engine = localEngine();
    const running = train({
      ...guarded,
      directory: run,
      engine,
      onEvent: (event) => {
        if (event.type === "phase" && event.phase === "saving") writeFileSync(down, "");
      },
    });
    await expect(running).rejects.toMatchObject({
      code: "service",
      message: expect.stringMatching(
        /^the judge failed on (\d+) of \1 actions, failures\.limit allows 10 %\. The first, in train\/3\/0: .* code 1; .*out of reach.*The run stopped in step 3; .* resumes after step 2\.$/,
      ) as string,
    });
    await engine.close();
    await fs.rm(down);
    const resumed = await trained(guarded, run, localEngine());
    expect(resumed.metrics).toEqual(whole.metrics);
    expect(resumed.evaluations).toEqual(whole.evaluations);
  });
});

describe("without a judge", () => {
  const warning = { type: "warning", key: "judge" };

  it("a run without any reward ends with an error before it trains", async () => {
    const [run, events] = [await folder("run"), [] as TrainEvent[]];
    const running = train({
      ...silentRecipe({}),
      directory: run,
      engine: hashEngine(),
      onEvent: (event) => events.push(event),
    });
    await expect(running).rejects.toMatchObject({
      code: "bad_recipe",
      message: expect.stringMatching(
        /^No action can be credited: echo left all .* Add a judge to the recipe/,
      ) as string,
    });
    expect(events).toContainEqual(
      expect.objectContaining({ ...warning, problem: expect.stringContaining("left and right") as string }),
    );
    expect(await readMetrics(run)).toEqual([]);
  });

  it("an algorithm that learns from the episode's score needs no judge", async () => {
    const { metrics, events } = await trained(silentRecipe({}, "grpo"));
    expect(metrics).toHaveLength(4);
    for (const { rollout } of metrics) expect(rollout).not.toHaveProperty("unrewarded");
    expect(events).not.toContainEqual(expect.objectContaining(warning));
  });

  it("actions without a reward are excluded and counted, the others train", async () => {
    const environment: typeof echo = {
      ...silentEcho,
      step: async (state, replies, context) => {
        const result = await echo.step(state, replies, context);
        return { ...result, rewards: { ...result.rewards, right: null } };
      },
    };
    const { metrics } = await trained({ ...silentRecipe({}), environment });
    for (const { rollout, policies } of metrics) {
      expect(rollout?.unrewarded).toBe(rollout?.roles["right"]?.actions);
      expect(rollout?.roles["right"]).toMatchObject({ team: null, local: null });
      expect(policies["shared"]?.optimizerSteps).toBe(1);
    }
  });
});

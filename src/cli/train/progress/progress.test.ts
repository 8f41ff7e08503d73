import { stripVTControlCharacters } from "node:util";
import { describe, expect, it, vi } from "vitest";
import type { Evaluation, RunResult, StepMetrics, Timing, WatchRecord } from "../../../runs/records.ts";
import { schemaVersion } from "../../../runs/records.ts";
import type { ProcessMemory } from "../../../engines/engine.ts";
import type { TrainEvent } from "../../../train/events.ts";
import { visibleLength } from "../../table.ts";
import { finalLines, ownLines, resultTable } from "./final.ts";
import {
  engineChangedLine,
  evaluationLine,
  measureTable,
  sampleLines,
  stepLine,
  trustParts,
} from "./lines.ts";
import { makeReporter } from "./reporter.ts";
import { panelLines, sparkline, advance, noProgress, secondsLeft, type ProgressState } from "./panel.ts";

const schema_version = schemaVersion;
const update = { optimizerSteps: 1, learningRate: 1e-3, gradientNorm: 1, clipShare: 0 };
const policy = { loss: 0.5, tokens: 600, ...update };
const role = { actions: 8, team: 0.25, local: 0.5, parts: {}, advantageSpread: 1, truncated: 0 };
const tokens = { promptTokens: 100, sampledTokens: 400 };
const rollout = { episodes: 4, success: 0.75, score: 0.8, turns: 2, groups: 8, flatGroups: 0, ...tokens };

function metrics(stageStep: number): StepMetrics {
  return {
    schema_version,
    step: 10 + stageStep,
    stage: "reinforcement",
    stageStep,
    policies: { shared: { ...policy, entropy: 1.5, kl: 0.002 } },
    rollout: { ...rollout, roles: { scout: role, planner: { ...role, team: 1 } } },
  };
}

const timing: Timing = { schema_version, step: 11, what: "reinforcement", seconds: 2 };
const started: TrainEvent = {
  type: "run-started",
  run: "mine",
  recipe: "plan-path",
  engine: "local engine",
  policies: [],
  steps: { "warm-start": 10, reinforcement: 40 },
};

function after(...events: readonly TrainEvent[]): ProgressState {
  return events.reduce(advance, noProgress);
}

function evaluation(team: string, moment: Evaluation["moment"], successes: number): Evaluation {
  const share = { success: successes / 100, low: 0.1, high: 0.9, score: 0.5, turns: 1.5, successByTurn: [] };
  return { schema_version, step: 10, moment, team, tasks: 100, successes, ...share, ...tokens };
}

it("the drift of a program's prompts is on the line and in the panel, by reason", () => {
  const drift = {
    branches: { "the tools changed": 2 },
    reencoded: { "the tools changed": 1400 },
    masked: { "the program did not get the answer": 1 },
  };
  const drifted = { ...metrics(12), rollout: { ...metrics(12).rollout, ...drift } } as StepMetrics;
  const notes = [
    "2 branched, 1.4 k tokens encoded again: the tools changed",
    "1 masked: the program did not get the answer",
  ];
  expect(stepLine(drifted, timing, 40, null)).toContain(notes.join("  "));
  const lines = panelLines(after(started, { type: "step", metrics: drifted, timing }), 80, { own: 1e9 });
  const shown = lines.map((line) => stripVTControlCharacters(line));
  expect(shown.filter((line) => notes.includes(line))).toEqual(notes);
});

it("a step in one line shows results by role, speed and time left", () => {
  expect(stepLine(metrics(12), timing, 40, 75)).toBe(
    "step 12/40  success 75.0 %  scout 0.25 + 0.50  planner 1.00 + 0.50  entropy 1.50  KL 0.00200  " +
      "500 tokens/s  1:15 min left",
  );
});

describe("an evaluation in one line", () => {
  const last = evaluation("team", "after", 50);

  it("says when it was: after training, or without any", () => {
    const shown = "50.0 % (10.0 to 90.0) of 100 tasks";
    expect(evaluationLine(last, { "warm-start": 0, reinforcement: 3 })).toBe(`team after training: ${shown}`);
    expect(evaluationLine(last, { "warm-start": 0, reinforcement: 0 })).toBe(`team untrained: ${shown}`);
    expect(evaluationLine({ ...last, moment: "during" }, { "warm-start": 4, reinforcement: 9 })).toBe(
      `team at step 6: ${shown}`,
    );
  });

  it("counts one task", () => {
    const one = { ...last, tasks: 1 };
    expect(evaluationLine(one, undefined)).toBe("team after training: 50.0 % (10.0 to 90.0) of 1 task");
  });
});

it("an evaluation whose first task takes long is announced", () => {
  vi.useFakeTimers();
  const written: string[] = [];
  const stderr = { write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream & { fd: 2 };
  const reporter = makeReporter({ mode: "lines" }, { stdout: process.stdout, stderr });
  const begin = (): void =>
    reporter.listen({ type: "evaluation-started", team: "team", moment: "before", tasks: 100 });
  begin();
  vi.advanceTimersByTime(9_000);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(100_000);
  expect(written).toEqual(["evaluating team, 0 of 100 tasks\n"]);
  begin();
  reporter.listen({ type: "evaluation-progress", team: "team", done: 1, tasks: 100 });
  begin();
  reporter.close();
  vi.advanceTimersByTime(100_000);
  expect(written).toHaveLength(1);
  vi.useRealTimers();
});

describe("the end of a run", () => {
  const result: RunResult = {
    schema_version,
    recipe: "small",
    seed: 1,
    engine: "local engine",
    steps: { warmStart: 0, reinforcement: 3 },
    seconds: { total: 4, warmStart: 0, reinforcement: 3, evaluation: 1 },
    tokens: { sampled: 10, sampledInTraining: 10, trained: 10 },
    table: [evaluation("team", "after", 50)],
    policies: {},
  };
  const evals = (run: string, available: number) =>
    finalLines(result, run, { available }).flatMap((line) => / eval (.*?) {2}/.exec(line)?.[1] ?? []);

  it("the end fits a narrow terminal, with commands on lines of their own, and the expected result", () => {
    const lines = finalLines(result, "other/mine", {
      available: Infinity,
      expected: { success: 0.972, minutes: 7 },
      width: 60,
    });
    expect(lines).toContain("expected of this recipe: 97.2 % after training, 7 minutes on");
    expect(lines).toContain("  troupe eval mine --tasks 2000 --runs other");
    expect(finalLines(result, "runs/mine", { available: 1, expected: {} })).toContain(
      "expected of this recipe: not measured",
    );
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  });

  it("names the stages that it had", () => {
    expect(finalLines(result, "runs/mine", { available: 1 })).toContain(
      "4.0 s: reinforcement 3.0 s (3 steps), evaluation 1.0 s",
    );
  });

  it("says that the best checkpoint is kept only where it is", () => {
    const best = { step: 2, success: 0.5, tasks: 4 };
    const said = (isBestKept: boolean) =>
      finalLines({ ...result, best }, "runs/mine", { available: 1, isBestKept });
    const evaluated = "best evaluation: 50.0 % of 4 tasks after step 2";
    expect(said(true)).toContain(`${evaluated}, whose checkpoint is kept`);
    expect(said(false)).toContain(evaluated);
  });

  const suggested = (more: object) => finalLines(result, "runs/mine", { available: 1, ...more }).join("\n");

  it("suggests to play only where a person can", () => {
    expect(suggested({ isPlayable: false })).not.toContain("troupe play");
    expect(suggested({})).toContain("troupe play --run mine");
  });

  it("says that a split has fewer tasks than the recipe asks for", () => {
    const wanted = { split: "heldOut", tasks: 1000 };
    const note = "evaluation.tasks asks for 1,000, but the split heldOut has only 50";
    expect(finalLines(result, "runs/mine", { available: 50, wanted })).toContain(note);
    expect(finalLines(result, "runs/mine", { available: 1000, wanted }).join("\n")).not.toContain("only");
  });

  it("suggests as many tasks as there are, and none if all were evaluated", () => {
    expect(evals("runs/mine", Infinity)).toEqual(["mine --tasks 2000"]);
    expect(evals("other/mine", 164)).toEqual(["mine --tasks 164 --runs other"]);
    expect(evals("runs/mine", 100)).toEqual([]);
  });

  it("of the first recipe suggests the larger board", () => {
    const [first, main] = ["quick-start", "plan-path"].map((recipe) => ownLines(recipe, 120).join("\n"));
    expect(first).toContain("train plan-path --guide");
    expect(main).not.toContain("train plan-path --guide");
  });
});

it("entropy and divergence are shown for each updated policy", () => {
  const policies = {
    idle: policy,
    trained: { ...policy, entropy: 1.5, kl: 0 },
    elsewhere: { ...policy, kl: 0.002 },
  };
  expect(trustParts({ ...metrics(1), policies })).toEqual([
    "idle no update",
    "trained entropy 1.50",
    "elsewhere KL 0.00200",
  ]);
});

it("another engine is reported in one line, with what changed", () => {
  const changes = [
    { name: "kernels", before: "avx2", now: "avx512-bf16" },
    { name: "threads", before: "1", now: "2" },
  ];
  expect(engineChangedLine(changes)).toBe(
    "warning: the run continues on a different engine (kernels avx2 before, avx512-bf16 now; threads 1 before, " +
      "2 now): numbers may differ in the last bits from those of an uninterrupted run",
  );
});

describe("the panel", () => {
  const step: TrainEvent = { type: "step", metrics: metrics(10), timing };
  const measured: TrainEvent = { type: "evaluation", evaluation: evaluation("team", "before", 31), timing };
  const state = after(
    started,
    { type: "stage-started", stage: "reinforcement", steps: 40, done: 9 },
    measured,
    step,
  );

  it("shows phase, bar, time left, success, rewards, divergence, evaluation, speed and memory", () => {
    const text = stripVTControlCharacters(panelLines(state, 80, { own: 420e6 }).join("\n"));
    expect(text).toContain("mine  starting");
    expect(text).toContain(`${"━".repeat(10)}${"─".repeat(30)} step 10/40  1:00 min left`);
    expect(text).toContain("success 75.0 %  ▇");
    expect(text).toContain("scout 0.25 + 0.50   planner 1.00 + 0.50");
    expect(text).toContain("entropy 1.50  KL 0.00200");
    expect(text).toContain("team before training: 31.0 % (10.0 to 90.0) of 100 tasks");
    expect(text).toContain("500 tokens/s   memory 420 MB");
  });

  const footOf = (engine: ProcessMemory): string =>
    stripVTControlCharacters(panelLines(state, 80, { own: 120e6, engine }).join("\n"));

  it("shows the memory of an engine's process and of its GPU apart", () => {
    expect(footOf({ host: 2.4e9 })).toContain("memory 120 MB, engine 2.4 GB   ");
    expect(footOf({ host: 2.4e9, device: 6e9 })).toContain("memory 120 MB, engine 2.4 GB, GPU 6.0 GB   ");
  });

  it("shows what was measured of each role, and the last limit that was crossed", () => {
    const shares = { entropy: 0.421, advantageShare: 0.61, flatGroups: 0.125 };
    const scout = { ...role, ...shares, length: 6.25, influence: 2, influenceReplies: 9 };
    const found = { ...metrics(11), rollout: { ...rollout, roles: { scout, planner: role } } };
    const crossed = {
      measure: "entropy",
      of: "scout",
      value: 0.421,
      limit: { kind: "below", at: 0.5 },
    } as const;
    const returned = { to: 14, learningRateFactor: 0.5 };
    const place = { schema_version, step: 21, success: 0.75 } as const;
    const record: WatchRecord = { ...place, ...crossed, action: "return", returned };
    const shown = after(started, { type: "step", metrics: found, timing }, { type: "watch", record });
    const lines = panelLines(shown, 80, { own: 0 }).map(stripVTControlCharacters);
    expect(lines).toContain(
      "scout: entropy 0.421, 61.0 % of the advantages, 12.5 % flat groups, 6.25 tokens, influence 2.00 (9 replies)",
    );
    expect(lines).toContain(
      "watch, after step 11: entropy of scout is 0.421 nats per token, below 0.5 (success 75.0 %); " +
        "returned to step 4, learning rates × 0.500",
    );
  });

  it("shows the queue and the capacity of each server", () => {
    const queue = "paused for lack of capacity: no\nGPU";
    const servers = [
      { server: "one:8000", waiting: 12, queue, capacity: "at most 4 models", silence: null },
      { server: "two:8000", waiting: 1, queue: null, capacity: null, silence: { seconds: 12, why: "" } },
    ];
    const lines = panelLines(state, 80, { own: 0 }, servers).map(stripVTControlCharacters);
    expect(lines).toContain(
      "server  one:8000   12 requests waiting   paused for lack of capacity: no GPU   at most 4 models",
    );
    expect(lines).toContain("server  two:8000   1 request waiting   no answer for 12 s");
  });

  it("keeps its bar within a narrow terminal", () => {
    const [, , bar = ""] = panelLines(state, 40, { own: 0 });
    expect(visibleLength(bar)).toBeLessThanOrEqual(40);
  });

  it("drops the seconds of another stage", () => {
    expect(secondsLeft(state)).toBe(60);
    expect(secondsLeft(after(started))).toBeNull();
    expect(
      secondsLeft(advance(state, { type: "stage-started", stage: "reinforcement", steps: 40, done: 0 })),
    ).toBeNull();
  });

  it("draws shares as bars", () => {
    expect(sparkline([0, 0.5, 0.99, 1])).toBe("▁▅██");
  });
});

it("the table has the single agent before, the team before and the team after, in this order", () => {
  const rows = resultTable([
    evaluation("team", "before", 31),
    evaluation("alone", "before", 20),
    evaluation("team", "after", 97),
  ]).slice(2);
  expect(rows.map((row) => row.replaceAll(/ +/g, " "))).toEqual([
    "alone before 20.0 % (10.0 to 90.0) 100 1.50",
    "team before 31.0 % (10.0 to 90.0) 100 1.50",
    "team after 97.0 % (10.0 to 90.0) 100 1.50",
  ]);
});

const share = (mean: number) => ({ mean, low: 0, high: 1 });
const terms = (means: Readonly<Record<string, number>>) => ({
  team: Object.fromEntries(Object.entries(means).map(([name, mean]) => [name, { mean, error: 0 }])),
  roles: {},
});

it("measures besides success are a column for each team, a term that a team lacks is a dash", () => {
  const measured = (name: string, mean: number, means: Readonly<Record<string, number>>) => ({
    ...evaluation(name, "after", 1),
    passAt: { 1: share(mean) },
    terms: terms(means),
  });
  const both = [measured("single", 0.25, { parses: 0.5 }), measured("team", 0.5, { helperUsed: 0.125 })];
  expect(measureTable(both, ({ team }) => team).map((row) => row.replaceAll(/ +/g, " "))).toEqual([
    "",
    "pass@k, terms of the reward single team",
    expect.stringMatching(/^─+ ─+ ─+$/) as string,
    "pass@1 25.0 % 50.0 %",
    "parses 0.500 –",
    "helperUsed – 0.125",
  ]);
  expect(measureTable([evaluation("team", "after", 1)], () => "")).toEqual([]);
});

describe("a sample episode", () => {
  it("shows model output in one line, without control characters", () => {
    const text = `up\n\u001B[2Jdown\u0007 ${"x".repeat(500)}`;
    const action = { turn: 0, role: "planner", text, team: 0, local: 0.1, reason: "no plan found" };
    const episode = { success: false, score: 0.25, turns: 1, start: "a", end: "b", actions: [action] };
    const lines = sampleLines(episode);
    expect(lines[0]).toBe("sample episode: not solved, score 0.25 in 1 turn");
    expect(lines[2]).toMatch(/^ {2}turn 1 planner: up \[2Jdown x+…  \[0\.00 \+ 0\.10, no plan found\]$/);
  });

  it("shows an empty action", () => {
    const action = { turn: 1, role: "scout", text: " \n", team: 0, local: 0 };
    const episode = { success: false, score: 0, turns: 2, start: "a", end: "b", actions: [action] };
    expect(sampleLines(episode)[2]).toBe("  turn 2 scout: (nothing)  [0.00 + 0.00]");
  });
});

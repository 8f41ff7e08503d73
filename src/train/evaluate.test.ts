import { expect, test } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import type { ConfiguredJudge } from "../judges/judge.ts";
import { judgeBy } from "../judges/testing/talk.ts";
import type { Episode } from "../rollout/episode.ts";
import { unrecordedCalls } from "../calls/recorded.ts";
import { scriptedEngine } from "../rollout/testing/scripted-engine.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import { evaluatePolicies } from "./evaluate.ts";
import type { EvaluationSetting } from "./evaluate.ts";
import { namedTeams } from "./teams.ts";
import { gameEnvironment } from "../environments/game.ts";
import { createGame } from "../environments/registry.ts";
import { wilsonInterval } from "../statistics.ts";
import { buildTeam } from "../teams/build.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";

const { recipe, environment } = tinyRecipe();
const [team, single] = namedTeams(recipe, environment);
const root = temporaryFolder();
writeWordTokenizer(root, wordsOf({ environment }));
const policy = { tokenizer: loadTokenizer(root), maxLength: 512 };

/** Always moves one to the right: solves boards whose goal is right next to the start in one turn. */
function setting(changes: Partial<EvaluationSetting> = {}): EvaluationSetting {
  return {
    environment,
    team: single?.team ?? { roles: [], phases: [], turns: 0 },
    engine: scriptedEngine(policy.tokenizer, () => "right", 3),
    policies: { shared: policy },
    tasks: 60,
    temperature: 0,
    topP: 1,
    ...changes,
  };
}

test("scores count successes by turn and tokens of the trajectory", async () => {
  const { scores, episodes } = await evaluatePolicies(setting());
  const ends = episodes.flatMap((episode) => episode.ends);
  const solvedIn = (turns: number) => ends.filter((end) => end.outcome.success && end.turns <= turns).length;
  expect(scores.tasks).toBe(60);
  expect(scores.successes).toBe(solvedIn(2));
  expect(scores.successByTurn).toEqual([solvedIn(1) / 60, solvedIn(2) / 60]);
  expect(solvedIn(1)).toBeGreaterThan(0);
  expect(solvedIn(2)).toBeGreaterThan(solvedIn(1));
  expect(scores.low).toBeLessThan(scores.success);
  expect(scores.high).toBeGreaterThan(scores.success);
  const turns = ends.reduce((sum, end) => sum + end.turns, 0);
  expect(scores.sampledTokens).toBe(2 * turns); // "right" and the end token
  expect(scores.turns).toBeCloseTo(turns / 60, 12);
});

test("every team gets the same tasks, whatever the seed and their number", async () => {
  const { episodes } = await evaluatePolicies(setting());
  const others = await evaluatePolicies(setting({ team: team.team, tasks: 20 }));
  expect(others.episodes.map(({ task }) => task)).toEqual(episodes.slice(0, 20).map(({ task }) => task));
});

test("progress is reported for each task, and an aborted evaluation is cancelled", async () => {
  const told: number[] = [];
  await evaluatePolicies(setting({ tasks: 5, onProgress: (done) => told.push(done) }));
  expect(told).toEqual([1, 2, 3, 4, 5]);
  const stop = new AbortController();
  const stopped = setting({ signal: stop.signal, onProgress: (done) => done === 3 && stop.abort() });
  await expect(evaluatePolicies(stopped)).rejects.toMatchObject({ code: "cancelled" });
});

test("each task is played once; all of them if there are fewer than requested", async () => {
  const few = gameEnvironment(createGame("eight-queens", { given: { least: 7, most: 7 } }));
  const role = { policy: "shared", prompt: "" };
  const alone = buildTeam({ roles: { planner: role }, phases: [["planner"]], turns: 1 }, few);
  const all = setting({ environment: few, team: alone, tasks: 100_000 });
  const { scores, episodes } = await evaluatePolicies(all);
  const distinct = new Set(episodes.map(({ task }) => JSON.stringify(task)));
  expect(distinct.size).toBe(episodes.length);
  // 8 ways to omit a queen of 92 solutions; 3 of 16 classes are held out.
  expect(scores.tasks).toBe(episodes.length);
  expect(scores.tasks).toBeGreaterThan(80);
  expect(scores.tasks).toBeLessThan((92 * 8) / 4);
  expect([scores.low, scores.high]).toEqual(Object.values(wilsonInterval(scores.successes, scores.tasks)));
});

test("another split has other tasks, and is named in the scores", async () => {
  const [heldOut, validation] = await Promise.all(
    [undefined, "validation"].map((split) => evaluatePolicies(setting({ split, tasks: 40 }))),
  );
  expect([heldOut?.scores.split, validation?.scores.split]).toEqual([undefined, "validation"]);
  const seen = new Set(heldOut?.episodes.map(({ task }) => JSON.stringify(task)));
  expect(validation?.episodes.some(({ task }) => seen.has(JSON.stringify(task)))).toBe(false);
});

/** A different move in each request, so that samples of a task differ. */
function chance(changes: Partial<EvaluationSetting> = {}): EvaluationSetting {
  const moves = ["right", "left", "up", "down"];
  let call = 0;
  const text = () => moves[call++ % 4] ?? "";
  return setting({ engine: scriptedEngine(policy.tokenizer, text), tasks: 12, concurrency: 1, ...changes });
}

const isSolved = ({ ends }: Episode) => ends[0]?.outcome.success === true;

test("several samples of a task share one estimate of pass@k, and the interval counts tasks", async () => {
  const { scores, episodes } = await evaluatePolicies(chance({ samples: 4, passAt: [1, 4] }));
  expect(episodes).toHaveLength(48);
  expect(new Set(episodes.map(({ id }) => id)).size).toBe(48);
  expect([scores.tasks, scores.samples]).toEqual([12, 4]);
  const tasks = Map.groupBy(episodes, ({ task }) => JSON.stringify(task));
  const solved = [...tasks.values()].map((samples) => samples.filter(isSolved).length);
  expect(solved.some((count) => count > 0 && count < 4)).toBe(true);
  const total = solved.reduce((all, count) => all + count);
  expect(scores.successes).toBe(total);
  expect(scores.passAt?.["1"]?.mean).toBeCloseTo(scores.success, 12);
  expect(scores.passAt?.["4"]?.mean).toBeCloseTo(solved.filter((count) => count > 0).length / 12, 12);
  const independent = wilsonInterval(total, 48);
  expect(scores.high - scores.low).toBeGreaterThan(independent.high - independent.low);
});

test("more samples leave the first episode of each task as it is", async () => {
  const one = await evaluatePolicies(setting({ tasks: 5 }));
  const two = await evaluatePolicies(setting({ tasks: 5, samples: 2 }));
  expect(two.episodes.filter((_, index) => index % 2 === 0)).toEqual(one.episodes);
  expect(one.scores).not.toHaveProperty("samples");
  expect(one.scores).not.toHaveProperty("passAt");
});

test("a judge of evaluations is asked at the given moment, and its comments are not shown", async () => {
  const ends: number[] = [];
  const judging = judgeBy(() => ({ score: 0.5, explanation: "right" }));
  const judge: ConfiguredJudge = {
    fills: "all",
    as: "team",
    comments: true,
    evaluation: true,
    open: () => ({
      ...judging,
      judge: (episode, asked) => {
        ends.push(episode.ends.length);
        return judging.judge(episode, asked);
      },
    }),
  };
  const plain = await evaluatePolicies(setting({ tasks: 4 }));
  const promptsOf = ({ episodes }: typeof plain) =>
    episodes.flatMap(({ actions }) => actions.map(({ prompt }) => [...prompt]));
  for (const moment of ["action", "episode"] as const) {
    const given = { judge, moment, calls: unrecordedCalls() };
    const found = await evaluatePolicies(setting({ tasks: 4, judging: given }));
    expect(promptsOf(found)).toEqual(promptsOf(plain));
    expect(found.scores.judged).toBe(0.5);
    expect(new Set(ends.splice(0))).toEqual(new Set([moment === "action" ? 0 : 1]));
  }
});

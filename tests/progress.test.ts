/**
 * Rows that sum rewards over turns can only earn the change of the score, in every game and with any play. Action
 * rewards do not have this property (docs/writing-an-environment.md).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CreditedAction } from "../src/credit/algorithm.ts";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import { credit } from "../src/credit/credit.ts";
import { progressAlong } from "../src/credit/returns.ts";
import type { Json } from "../src/environments/environment.ts";
import { gameEnvironment, type Game } from "../src/environments/game.ts";
import { games } from "../src/environments/registry.ts";
import { drawInt, generatorOf, keyAt, rootKey, type Generator } from "../src/random.ts";
import type { Episode, EpisodeNode } from "../src/rollout/episode.ts";
import { growEpisode } from "../src/rollout/grow.ts";
import { pathTo, nodeOf, rootOf } from "../src/rollout/navigate.ts";
import { rolloutDefaults } from "../src/rollout/setting.ts";
import { scriptedEngine } from "../src/rollout/testing/scripted-engine.ts";
import type { Team } from "../src/teams/team.ts";
import { loadTokenizer } from "../src/text/tokenizer.ts";
import { writeWordTokenizer } from "../src/text/word-tokenizer.ts";

const turns = 5;
/** Rounding of sums of at most ten differences of numbers in [0, 1]. */
const rounding = 1e-12;

/** What a row pays a role on a trajectory in total: the sum of rewards, or a return that already is one. */
type Paid = (credited: readonly CreditedAction[]) => number;
const summed: Paid = (credited) => credited.reduce((sum, one) => sum + (one.return ?? Number.NaN), 0);
const first: Paid = (credited) => credited[0]?.return ?? 0;

const progress = { reward: "progress" };
const noKl = { kl: { where: "none" } };
const rows: readonly (readonly [string, object, Paid])[] = [
  ["magrpo", {}, first],
  ["mareinforce", {}, first],
  ["marloo", {}, first],
  ["maremax", {}, first],
  ["iac", {}, summed],
  ["maac", {}, summed],
  ["ppo", progress, summed],
  ["reinforce", progress, first],
  ["reinforce-plus-plus", { ...progress, ...noKl }, first],
  ["mas-grpo", progress, first],
];

interface Stage {
  readonly environment: Game;
  readonly seats: readonly [string, string];
  readonly phases: readonly (readonly string[])[];
  /** Plays texts on one trajectory: the helper's, the planner's, the helper's, … */
  readonly play: (task: Json, written: readonly string[]) => Promise<Episode>;
}

const stages = games.map((definition): Stage => {
  const rules = definition.create(definition.options.parse({}));
  const environment = gameEnvironment(rules);
  const [helper = "", planner = ""] = Object.keys(environment.seats);
  const directory = mkdtempSync(join(tmpdir(), "troupe-progress-"));
  writeWordTokenizer(directory, rules.words);
  const tokenizer = loadTokenizer(directory);
  rmSync(directory, { recursive: true });
  const policy = { tokenizer, maxLength: 4096 };
  const role = {
    policy: "shared",
    prompt: "",
    frozen: false,
    memory: "turn",
    maxTokens: 200,
    stop: [],
  } as const;
  const roles = [helper, planner].map((seat) => ({ ...role, name: seat, seat }));
  const isTogether = definition.name === "thin-ice";
  const phases = isTogether ? [[helper, planner]] : [[helper], [planner]];
  const team: Team = { roles, phases, turns };
  const play: Stage["play"] = (task, written) => {
    let next = 0;
    return growEpisode(
      {
        ...rolloutDefaults,
        environment,
        team,
        engine: scriptedEngine(tokenizer, () => written[next++] ?? ""),
        policies: { shared: policy },
        scheme: { branch: { root: 1, inner: 1 }, keep: "all" },
        score: ({ team: earned, local }) => earned + local,
        sampling: { temperature: 1 },
      },
      rootKey(1),
      { task, path: ["train", 0, 0] },
    );
  };
  return { environment: rules, seats: [helper, planner], phases, play };
});

const opposite: Readonly<Record<string, string>> = { up: "down", down: "up", left: "right", right: "left" };

/** Prefixes of solutions, ways back, stray words, nothing: exploits of action rewards. */
function halfSensible(stage: Stage, task: Json, draw: Generator): string[] {
  const { environment, seats, phases } = stage;
  const written: string[] = [];
  let [state, before] = [environment.start(task), ""];
  for (let turn = 0; turn < turns; turn++) {
    for (const phase of phases) {
      const texts = phase.map((seat) => {
        const solution = environment.solve(state, seat);
        const choices = [
          () => solution,
          () => begun(environment, solution, draw),
          () => begun(environment, solution, draw),
          () => undone(environment, before, draw),
          () => undone(environment, before, draw),
          () => "",
        ];
        return choices[seat === seats[0] ? drawInt(draw, 6) : 1 + drawInt(draw, 5)]?.() ?? "";
      });
      written.push(...texts);
      const actions = phase.map((seat, index) => [seat, texts[index] ?? ""] as const);
      const result = environment.step(state, Object.fromEntries(actions));
      state = result.state;
      if (phase.includes(seats[1])) before = texts.at(-1) ?? "";
      if (result.done) return written;
    }
    state = environment.endTurn?.(state) ?? state;
  }
  return written;
}

/** A move of blocks is three words, others one. */
const wordsOf = ({ name }: Game): number => (name === "blocksworld" ? 3 : 1);

function begun(environment: Game, solution: string, draw: Generator): string {
  const words = solution.split(" ");
  const unit = wordsOf(environment);
  return words.slice(0, unit * drawInt(draw, Math.ceil(words.length / unit))).join(" ");
}

/** The way back if there is one; otherwise other contents in the places that the last plan filled, or anything. */
function undone(environment: Game, plan: string, draw: Generator): string {
  const words = plan.split(" ");
  const any = (): string => environment.words[drawInt(draw, environment.words.length)] ?? "";
  if (environment.name === "sudoku")
    return words.map((word) => word.replace(/=.*/, `=${1 + drawInt(draw, 4)}`)).join(" ");
  if (environment.name === "eight-queens")
    return words.map((word) => `${word[0]}${1 + drawInt(draw, 8)}`).join(" ");
  if (environment.name === "blocksworld") return `move ${"abcde"[drawInt(draw, 5)]} table`;
  if (words.some((word) => !(word in opposite))) return any();
  return words
    .toReversed()
    .map((word) => opposite[word])
    .join(" ");
}

/**
 * What a row pays on the only trajectory of the episode: each role, or the team if one value follows the whole team.
 */
function paidBy(episode: Episode, [name, options, paid]: (typeof rows)[number]): number[] {
  const values = { values: ({ tokens }: { tokens: Int32Array }) => new Float32Array(tokens.length) };
  const credited = credit([episode], algorithmFrom(name, { ...options }), values);
  // In maac one value follows the team; simultaneous roles share it.
  if (name === "maac") return [paid([...new Map(credited.map((one) => [one.node, one])).values()])];
  return [...Map.groupBy(credited, ({ action }) => action.role).values()].map(paid);
}

const lineOf = (episode: Episode): EpisodeNode[] =>
  episode.ends.slice(0, 1).flatMap(({ node }) => pathTo(episode, nodeOf(episode, node)));
const scoreAtStart = (episode: Episode): number => rootOf(episode).score ?? 0;
const gain = (episode: Episode): number => (episode.ends[0]?.outcome.score ?? 0) - scoreAtStart(episode);

describe.each(stages.map((stage) => [stage.environment.name, stage] as const))("%s", (name, stage) => {
  const plays = Array.from({ length: 30 }, (_, index) => {
    const task = stage.environment.task("train", keyAt(rootKey(5), name, index % 15));
    const written = halfSensible(stage, task, generatorOf(keyAt(rootKey(6), name, index)));
    return stage.play(task, written);
  });

  it("pays the last score minus the first, with every row and any play", async () => {
    for (const episode of await Promise.all(plays)) {
      for (const row of rows)
        for (const paid of paidBy(episode, row))
          expect(Math.abs(paid - gain(episode))).toBeLessThan(rounding);
      const { success = false } = episode.ends[0]?.outcome ?? {};
      expect(success || gain(episode) < 1 - scoreAtStart(episode)).toBe(true);
    }
  });

  it("pays exactly 0 between two states of the same score, whatever happens in between", async () => {
    let detours = 0;
    for (const episode of await Promise.all(plays)) {
      const line = lineOf(episode);
      for (const [at, node] of line.entries()) {
        const from = line.findIndex((other) => other.score === node.score);
        if (from === at) continue;
        expect(progressAlong(episode, line.slice(from + 1, at + 1), 1)).toBe(0);
        const drawn = line.slice(from, at).map(({ state }) => stage.environment.render(state));
        if (new Set(drawn).size > 1) detours++;
      }
    }
    expect(detours).toBeGreaterThan(0);
  });

  it("with γ < 1 never pays more than the highest score reached", async () => {
    for (const episode of await Promise.all(plays)) {
      const highest = Math.max(...lineOf(episode).map(({ score = 0 }) => score)) - scoreAtStart(episode);
      for (const discount of [0.9, 0.5]) {
        for (const row of ["magrpo", "mas-grpo"]) {
          const [paid = 0] = paidBy(episode, [row, { ...progress, discount }, first]);
          expect(paid).toBeLessThan(highest + rounding);
        }
      }
    }
  });
});

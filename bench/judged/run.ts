/** A short training of a recipe with a judge that scores what the agents write. */
import { createHash } from "node:crypto";
import path from "node:path";
import { openEngine } from "../../src/engines/open.ts";
import type { ConfiguredJudge } from "../../src/judges/judge.ts";
import { resolveRecipe, type ResolvedRecipe } from "../../src/recipes/resolve.ts";
import { recipeWarnings } from "../../src/recipes/validation/warnings.ts";
import type { Verdict } from "../../src/rollout/episode.ts";
import { readMetrics } from "../../src/runs/read.ts";
import type { StepMetrics } from "../../src/runs/records.ts";
import { mean, sum } from "../../src/statistics.ts";
import { train } from "../../src/train/run.ts";

export interface JudgedRow {
  readonly recipe: string;
  readonly algorithm: string;
  /** As the recipe is, its algorithm learns from rewards of actions. */
  readonly usesRewards: boolean;
  /** The option that makes it do so; null: it does. */
  readonly option: string | null;
  /** As the recipe is, another judge gives other updates. */
  readonly hasEffect: boolean;
  readonly judged: number;
  readonly unjudged: number;
  /** Actions that trained nothing. */
  readonly unrewarded: number;
  /** The judge's mean score in the first and last steps, with the option. */
  readonly first: number;
  readonly last: number;
}

const steps = 24;
/** Steps at each end that the mean score is of. */
const compared = 3;

const small = [
  "warmStart=null",
  "expected=null",
  `train={steps: ${steps}, tasksPerStep: 4, learningRate: 0.003, schedule: constant, warmupSteps: 0}`,
  "train.tokensPerStep=null",
  "evaluation={tasks: 1, every: 0, tasksDuring: 1}",
  "evaluation.compare=null",
  "checkpoint.every=1000",
  "failures={retries: 0, limit: 0.5}",
  "engine={type: local, threads: 1}",
  "policies.shared.model={preset: nano}",
];
/** Stands for the judge in the recipe; the one below answers. */
const judge = "judge={name: command, run: [node, --version], fills: all}";

export async function judgedRun(file: string, scratch: string): Promise<JudgedRow> {
  const plain = await resolveRecipe(file, [...small, judge]);
  const [warning] = recipeWarnings(plain).filter(({ key }) => key === "judge");
  const [, value] = /set `algorithm\.reward` to (\w+)/.exec(warning?.fix ?? "") ?? [];
  if (warning !== undefined && value === undefined) throw new Error(`${file}: ${warning.fix}`);
  const option = value === undefined ? null : `reward: ${value}`;
  const changes = value === undefined ? [] : [`algorithm.reward=${value}`];
  const learning = await resolveRecipe(file, [...small, judge, ...changes]);
  const name = path.basename(file, ".yaml");
  const one = await trained(plain, low, 2, path.join(scratch, `${name}-low`));
  const other = await trained(plain, high, 2, path.join(scratch, `${name}-high`));
  const hasEffect = JSON.stringify(updates(one)) !== JSON.stringify(updates(other));
  const verdicts: Verdict[] = [];
  const noting: Scoring = (...given) => {
    const verdict = low(...given);
    verdicts.push(verdict);
    return verdict;
  };
  const metrics = await trained(learning, noting, steps, path.join(scratch, name));
  const unjudged = verdicts.filter((verdict) => "failure" in verdict).length;
  const scores = metrics.map(scoreOf);
  return {
    recipe: name,
    algorithm: plain.algorithm.name,
    usesRewards: warning === undefined,
    option,
    hasEffect,
    judged: verdicts.length - unjudged,
    unjudged,
    unrewarded: sum(metrics.map(({ rollout }) => rollout?.unrewarded ?? 0)),
    first: mean(scores.slice(0, compared)),
    last: mean(scores.slice(-compared)),
  };
}

async function trained(
  { recipe, environment, algorithm }: ResolvedRecipe,
  score: Scoring,
  count: number,
  directory: string,
): Promise<StepMetrics[]> {
  const engine = openEngine({ threads: 1 });
  try {
    const short = { ...recipe, train: { ...recipe.train, steps: count } };
    await train({ recipe: short, environment, algorithm, judge: judgeBy(score), directory, engine });
  } finally {
    await engine.close();
  }
  return readMetrics(directory);
}

function judgeBy(score: Scoring): ConfiguredJudge {
  return {
    fills: "all",
    as: "team",
    evaluation: false,
    open: () => ({
      judge: async ({ id }, asked) =>
        asked.map(({ node, action }) => {
          const verdict = score(action.reply.text, `${id} ${node.id} ${action.id}`);
          return { node: node.id, action: action.id, verdict };
        }),
      settle: async () => {},
      close: async () => {},
    }),
  };
}

/** @param place of the action in the run */
type Scoring = (text: string, place: string) => Verdict;

/** The share of the words that end in a low number: `a1`, `b2`. */
const low: Scoring = (text, place) => scored(text, place, /[12]$/);
const high: Scoring = (text, place) => scored(text, place, /[34]$/);

/** No verdict for one action in twenty. */
function scored(text: string, place: string, wanted: RegExp): Verdict {
  const [first = 0] = createHash("sha256").update(place).digest();
  if (first < 256 / 20) return { failure: "no verdict" };
  const words = text.split(/\s+/).filter((word) => word !== "");
  return { score: words.length === 0 ? 0 : words.filter((word) => wanted.test(word)).length / words.length };
}

function updates(metrics: readonly StepMetrics[]): unknown {
  return metrics.map(({ policies, critics }) => [policies, critics]);
}

function scoreOf({ rollout }: StepMetrics): number {
  const roles = Object.values(rollout?.roles ?? {});
  return (
    sum(roles.map(({ team, actions }) => (team ?? 0) * actions)) / sum(roles.map((role) => role.actions))
  );
}

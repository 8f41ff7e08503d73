/**
 * Warnings about a recipe before training. Nothing here is rejected: published systems do some of it, and comparisons
 * with them must stay possible.
 */
import { algorithmFrom, algorithms } from "../../credit/algorithms.ts";
import { usesRewards } from "../../credit/selection.ts";
import { optionsOf } from "../choice.ts";
import type { Combination } from "./rule.ts";

export interface Warning {
  /** The key: `algorithm.reward`. */
  readonly key: string;
  readonly problem: string;
  /** What to do instead. */
  readonly fix: string;
}

export function recipeWarnings({
  adjustments = [],
  configuredEngine,
  ...combination
}: Adjusted): readonly Warning[] {
  const { train, algorithm } = combination.recipe;
  const ofEngine = (configuredEngine?.warnings ?? []).map(({ key, ...rest }) => ({
    key: `engine.${key}`,
    ...rest,
  }));
  if (train.steps === 0) return [...adjustments, ...ofEngine];
  // Options of a module are unknown here.
  const summed = algorithm.name === undefined ? [] : summedRewards(combination);
  const { warnings = [] } = combination.environment;
  const ofOptions = warnings.map(({ key, ...rest }) => ({ key: `environment.${key}`, ...rest }));
  return [
    ...adjustments,
    ...ofEngine,
    ...ofOptions,
    ...summed,
    ...missingRewards(combination),
    ...forgottenCalls(combination),
    ...revealedTruth(combination),
  ];
}

/** A coach that knows the answer may write it into a comment, and the next role is paid for copying it. */
function revealedTruth({ recipe: { judge } }: Combination): readonly Warning[] {
  const { truth, comments } = judge ?? {};
  const shown = typeof truth === "object" && truth !== null ? Object.values(truth) : [truth];
  if (comments !== true || !shown.includes("visible")) return [];
  const problem =
    "comments of a judge that sees the reference answer can give it away to the roles that read them";
  return [{ key: "judge.comments", problem, fix: "use `truth: hidden`, or no comments" }];
}

interface Adjusted extends Combination {
  readonly adjustments?: readonly Warning[] | undefined;
}

/** Whether missing rewards are filled in, and whether that trains anything. */
function missingRewards({ recipe, environment, algorithm }: Combination): readonly Warning[] {
  const { judge } = recipe;
  const acting = Object.entries(recipe.team.roles).filter(([, { frozen }]) => !frozen);
  const seats = new Set(acting.map(([name, { seat }]) => seat ?? name));
  const judged = [...seats].filter((seat) => environment.seats[seat]?.judged === true);
  const isUsed = usesRewards(algorithm);
  if (judge === undefined) {
    if (judged.length === 0 || !isUsed) return [];
    const problem = `${environment.name} leaves actions of ${judged.join(" and ")} without a reward, and such actions train nothing`;
    return [
      {
        key: "judge",
        problem,
        fix: "add a judge, such as `judge: { name: command, run: [node, judge.ts] }`",
      },
    ];
  }
  if (!isUsed) {
    const problem = `${algorithm.name} learns from the episode's score alone, so verdicts train nothing`;
    return [{ key: "judge", problem, fix: `${rewardedBy(recipe)}, or remove it` }];
  }
  if (judge["fills"] !== "missing" || judged.length > 0) return [];
  const problem = `${environment.name} says of no seat here that it leaves actions without a reward, so the judge may never be asked`;
  return [{ key: "judge.fills", problem, fix: "`fills: all` judges every action" }];
}

/** How the algorithm learns from rewards of actions. */
function rewardedBy({ algorithm: { name, ...options } }: Combination["recipe"]): string {
  const reward = ["action", "rewards"].find((value) => {
    const parsed = algorithms[name ?? ""]?.options.safeParse({ ...optionsOf(options), reward: value });
    return parsed?.success === true && usesRewards(algorithmFrom(name ?? "", parsed.data));
  });
  return reward === undefined
    ? "use an algorithm that compares rewards, such as at-grpo"
    : `set \`algorithm.reward\` to ${reward}`;
}

/** Tools whose calls the model does not see again. */
function forgottenCalls({ recipe, environment }: Combination): readonly Warning[] {
  return Object.entries(recipe.team.roles).flatMap(([name, { seat = name, memory }]) => {
    if (memory !== "turn" || !environment.seats[seat]?.tools?.length) return [];
    const problem = `with \`turn\`, ${name} sees its earlier tool calls only if the observations of ${environment.name} repeat them`;
    return [
      {
        key: `team.roles.${name}.memory`,
        problem,
        fix: "`conversation` keeps calls and answers in the prompt",
      },
    ];
  });
}

/** Rewards meant for comparing actions of one state may be exploitable if summed over turns. */
function summedRewards({ recipe, environment, algorithm }: Combination): readonly Warning[] {
  const { roles, turns } = recipe.team;
  const isJudged = recipe.judge?.["fills"] === "all";
  const taken = new Set(Object.entries(roles).map(([name, { seat }]) => seat ?? name));
  const summable = isJudged ? [] : (environment.oracle?.summable ?? []);
  const unfit = [...taken].filter((seat) => !summable.includes(seat));
  const acts = environment.next === undefined ? turns : Infinity;
  if (acts === 1 || unfit.length === 0 || !sumsActionRewards(recipe.algorithm, algorithm)) return [];
  const over = turns === 1 ? "within a turn" : `over ${turns} turns`;
  const how = `\`${String(recipe.algorithm["reward"])}\` sums ${over} the rewards of ${isJudged ? "the judge" : environment.name} for`;
  const problem = `${how} actions of ${unfit.join(" and ")}; the sum may be larger without success`;
  const fix = "use `reward: progress`, the changes of the score, which cannot be exploited";
  return [{ key: "algorithm.reward", problem, fix }];
}

/**
 * Whether a role's returns span several of its turns and depend on action rewards. With `reward: action` they do so
 * through a tree (`handOver: all`), a trajectory (`handOver: each`) or a critic's values; otherwise they end at the action.
 */
export function sumsActionRewards(
  { reward, handOver, discount }: Combination["recipe"]["algorithm"],
  { critic }: Pick<Combination["algorithm"], "critic">,
): boolean {
  if (discount === 0) return false;
  if (reward === "turns" || reward === "rewards") return true;
  return reward === "action" && (handOver === "all" || handOver === "each" || critic !== null);
}

/** `warning: algorithm.reward: … ; …` */
export function showWarning({ key, problem, fix }: Warning): string {
  return `warning: ${key}: ${problem}; ${fix}`;
}

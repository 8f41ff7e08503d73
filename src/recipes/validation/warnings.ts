/**
 * What to know of a recipe before it is trained. Nothing here is rejected: published systems do some of it, and
 * comparing with them must stay possible.
 */
import type { Combination } from "./rule.ts";

export interface Warning {
  /** The key it is about: `algorithm.reward`. */
  readonly key: string;
  readonly problem: string;
  /** What to do instead. */
  readonly fix: string;
}

export function recipeWarnings(combination: Combination): readonly Warning[] {
  const { train, algorithm } = combination.recipe;
  // What the options of a module mean is for the module to say.
  return train.steps === 0 || algorithm.name === undefined ? [] : summedRewards(combination);
}

/** Rewards that an environment makes for comparing the actions of one state may be farmed where turns are added up. */
function summedRewards({ recipe, environment, algorithm }: Combination): readonly Warning[] {
  const { roles, turns } = recipe.team;
  const taken = new Set(Object.entries(roles).map(([name, { seat }]) => seat ?? name));
  const unfit = [...taken].filter((seat) => environment.oracle?.summable?.includes(seat) !== true);
  const acts = environment.next === undefined ? turns : Infinity;
  if (acts === 1 || unfit.length === 0 || !sumsActionRewards(recipe.algorithm, algorithm)) return [];
  const over = turns === 1 ? "within a turn" : `over ${turns} turns`;
  const how = `\`${String(recipe.algorithm["reward"])}\` adds up, ${over}, what ${environment.name} pays`;
  const problem = `${how} each action of ${unfit.join(" and ")}; the sum may be larger for not solving than for solving`;
  const fix = "`reward: progress` adds up the changes of the score, which cannot be farmed";
  return [{ key: "algorithm.reward", problem, fix }];
}

/**
 * Whether a role's returns reach over several of its turns and are made of what its actions were paid. With `reward: action`
 * they do so through a tree (`handOver: all`) or through a critic's values, and else stop at the action.
 */
export function sumsActionRewards(
  { reward, handOver, discount }: Combination["recipe"]["algorithm"],
  { critic }: Pick<Combination["algorithm"], "critic">,
): boolean {
  if (discount === 0) return false;
  if (reward === "turns" || reward === "rewards") return true;
  return reward === "action" && (handOver === "all" || critic !== null);
}

/** `warning: algorithm.reward: … ; …` */
export function showWarning({ key, problem, fix }: Warning): string {
  return `warning: ${key}: ${problem}; ${fix}`;
}

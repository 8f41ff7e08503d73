/** The combinations of an algorithm with a team or an engine that cannot work: why, and the nearest thing that does. */
import type { EngineCapabilities } from "../engines/engine.ts";
import type { Algorithm } from "./algorithm.ts";

/** What of a team an algorithm depends on. */
export interface TeamShape {
  readonly phases: readonly (readonly string[])[];
  readonly turns: number;
  /** Longest action of each role, in tokens. */
  readonly maxTokens: readonly number[];
}

export interface AlgorithmMistake {
  /** The option, as in a recipe: `["algorithm", "joint"]`. */
  readonly path: readonly string[];
  readonly problem: string;
  readonly fix: string;
}

/** More joint actions than this in one episode is a tree that nobody meant. */
const largestTree = 4096;

/** Everything that cannot work, or would do nothing. `engine` is what the recipe's engine can do; absent: not checked. */
export function algorithmMistakes(
  algorithm: Algorithm,
  team: TeamShape,
  engine?: EngineCapabilities,
): readonly AlgorithmMistake[] {
  return [
    ...groupMistakes(algorithm),
    ...dropMistakes(algorithm),
    ...crossMistakes(algorithm, team),
    ...criticMistakes(algorithm, team),
    ...treeMistakes(algorithm, team),
    ...turnMistakes(algorithm, team),
    ...lengthMistakes(algorithm, team),
    ...(engine === undefined ? [] : engineMistakes(algorithm, engine)),
  ];
}

/** A baseline that gives a lone action its own return back leaves it without credit. */
function groupMistakes({ name, sampling, baseline, grouping }: Algorithm): readonly AlgorithmMistake[] {
  const { root, inner } = sampling.branch;
  const isAlone = Math.max(root, inner) === 1 && baseline([1])[0] === 1;
  if (!isAlone || grouping.spans === "batch") return [];
  const problem = `${name} compares the actions of a group, and here each group has one: every advantage would be 0`;
  return [{ path: ["algorithm"], problem, fix: "sample at least 2 actions per group" }];
}

/** Dynamic sampling drops what teaches nothing; without a baseline equal returns teach as well as others. */
function dropMistakes({ name, selection, baseline }: Algorithm): readonly AlgorithmMistake[] {
  if (!selection.dropUniform || baseline([1, 1])[0] !== 0) return [];
  const problem = `${name} has no baseline, so a task whose returns are all the same teaches, too`;
  const fix = "remove it, or take a row that compares: magrpo";
  return [{ path: ["algorithm", "dynamicSampling"], problem, fix }];
}

function crossMistakes({ sampling }: Algorithm, team: TeamShape): readonly AlgorithmMistake[] {
  if (sampling.joint !== "cross" || team.phases.some((roles) => roles.length > 1)) return [];
  const problem = "cross mode pairs the samples of roles that act at once, and no phase has two roles";
  const fix = "use `joint: aligned`, which is the same for one role, or put the roles into one phase";
  return [{ path: ["algorithm", "joint"], problem, fix }];
}

/** A row whose only critic reads several roles' prompts; where `critic: central` is an option, `idleOptions` refuses it. */
function criticMistakes({ name, critic }: Algorithm, { phases }: TeamShape): readonly AlgorithmMistake[] {
  if (critic?.scope !== "central" || critic.at !== "prompt" || phases.flat().length > 1) return [];
  const problem = `the critic of ${name} is for the prompts of several roles, and the team has one role`;
  return [{ path: ["algorithm", "name"], problem, fix: "use `iac`, whose critic sees the role's prompt" }];
}

function treeMistakes({ sampling }: Algorithm, team: TeamShape): readonly AlgorithmMistake[] {
  if (jointActions(sampling, team) <= largestTree) return [];
  const problem = `with ${sampling.branch.root} samples an episode could be a tree of more than ${largestTree} joint actions`;
  const goesOn = sampling.keep === "all" && sampling.branch.inner > 1;
  const most = mostSamples(sampling, team);
  const fewer = most < 2 ? "" : `at most ${most} samples, `;
  const fix = goesOn
    ? `use ${fewer}\`handOver: best\` or fewer turns`
    : `use ${fewer || "fewer samples, "}or \`joint: aligned\``;
  return [{ path: ["algorithm", "samples"], problem, fix }];
}

/** As many as the largest tree has room for. */
function mostSamples(sampling: Algorithm["sampling"], team: TeamShape): number {
  const { root, inner } = sampling.branch;
  const fits = (count: number): boolean => {
    const branch = { root: count, inner: Math.min(inner, count) };
    return jointActions({ ...sampling, branch }, team) <= largestTree;
  };
  let count = root;
  while (count > 1 && !fits(count)) count--;
  return count;
}

/** Of a whole episode without an early end; counting stops above the limit. */
function jointActions({ branch, keep, joint }: Algorithm["sampling"], { phases, turns }: TeamShape): number {
  let [total, tips] = [0, 1];
  for (let turn = 0; turn < turns && total <= largestTree; turn++) {
    for (const [phase, roles] of phases.entries()) {
      const count = turn === 0 && phase === 0 ? branch.root : branch.inner;
      const children = tips * count ** (joint === "cross" ? roles.length : 1);
      total += children;
      tips = keep === "all" ? children : tips;
    }
  }
  return total;
}

function turnMistakes({ turnWeights }: Algorithm, { turns }: TeamShape): readonly AlgorithmMistake[] {
  const path = ["algorithm", "turnWeights"];
  if (turnWeights === null) return [];
  if (turnWeights.every((weight) => weight === 0)) {
    return [{ path, problem: "with these weights no turn trains anything", fix: "give one of them above 0" }];
  }
  if (turnWeights.length === turns) return [];
  const problem = `${turnWeights.length} turn weights for a team of ${turns} turns`;
  return [{ path, problem, fix: `give ${turns} numbers, one per turn` }];
}

function lengthMistakes({ overlong }: Algorithm, { maxTokens }: TeamShape): readonly AlgorithmMistake[] {
  const longest = Math.max(0, ...maxTokens);
  if (overlong === null || longest > overlong.length - overlong.buffer) return [];
  const problem = `the penalty begins above ${overlong.length - overlong.buffer} tokens, and no role writes more than ${longest}`;
  return [{ path: ["algorithm", "overlong"], problem, fix: `a length of at most ${longest}` }];
}

function engineMistakes(algorithm: Algorithm, engine: EngineCapabilities): readonly AlgorithmMistake[] {
  const { loss } = algorithm.objective;
  const mistakes: AlgorithmMistake[] = [];
  const refuse = (path: readonly string[], problem: string, fix: string) =>
    mistakes.push({ path: ["algorithm", ...path], problem, fix });
  if (!engine.losses.includes(loss.type)) {
    refuse([], `the engine has no loss \`${loss.type}\``, `it has ${engine.losses.join(", ")}`);
  }
  if (algorithm.critic !== null && !engine.critic) {
    const fix = "take an algorithm without one: rloo and grpo compare samples instead";
    refuse(["name"], `${algorithm.name} needs a critic, and the engine has none`, fix);
  }
  if (algorithm.kl?.where === "loss" && !engine.klInLoss) {
    refuse(["kl", "where"], "the engine cannot add KL to the loss", "use `where: reward`");
  }
  if (loss.type === "ppo" && loss.ratio === "sequence" && !engine.sequenceRatio) {
    refuse(["name"], "the engine has no ratio per sequence", "use `name: grpo`, whose ratio is per token");
  }
  if (loss.type === "ppo" && loss.dualClip !== undefined && !engine.dualClip) {
    refuse(["dualClip"], "the engine has no dual clip", "remove it");
  }
  return mistakes;
}

/** Whether the algorithm can train with this team and these policies. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Algorithm } from "../../../credit/algorithm.ts";
import type { KlOptions } from "../../../credit/rows/options.ts";
import { textDirectory } from "../../../models/adapter-base.ts";
import { didYouMean } from "../../../nearest.ts";
import type { Recipe } from "../../schema.ts";
import type { Problem, Rule } from "../rule.ts";
import { teamShape, treeSize, type TeamShape } from "./teams.ts";

export interface MeasuredShape extends TeamShape {
  /** Longest action of any role, in tokens. */
  readonly maxTokens: readonly number[];
}

export const algorithmNeeds: Rule = ({ algorithm, recipe, environment }) => {
  const maxTokens = Object.entries(recipe.team.roles)
    .filter(([, { frozen }]) => !frozen)
    .map(([name, role]) => role.maxTokens ?? environment.seats[role.seat ?? name]?.maxTokens ?? 0);
  return algorithmProblems(algorithm, { ...teamShape(recipe.team, environment), maxTokens });
};

export function algorithmProblems(algorithm: Algorithm, team: MeasuredShape): readonly Problem[] {
  return [
    ...loneSamples(algorithm),
    ...uselessDrops(algorithm),
    ...uselessDownSample(algorithm),
    ...crossOfOne(algorithm, team),
    ...centralCriticOfOne(algorithm, team),
    ...treeSize(algorithm, team),
    ...turnWeights(algorithm, team),
    ...overlongPenalty(algorithm, team),
  ];
}

/** With such a baseline a group of one has no advantage. */
function loneSamples({ name, sampling, baseline, grouping }: Algorithm): readonly Problem[] {
  const { root, inner } = sampling.branch;
  const isAlone = Math.max(root, inner) === 1 && baseline([1])[0] === 1;
  if (!isAlone || grouping.spans !== undefined) return [];
  const problem = `${name} compares the actions of a group, but each group has one: every advantage would be 0`;
  return [{ path: ["algorithm"], problem, fix: "sample at least 2 actions per group" }];
}

/** Dynamic sampling drops groups without a gradient; without a baseline, equal returns have one. */
function uselessDrops({ name, selection, baseline }: Algorithm): readonly Problem[] {
  if (!selection.dropZeroVariance || baseline([1, 1])[0] !== 0) return [];
  const problem = `${name} has no baseline, so equal returns have a gradient too`;
  const fix = "remove it, or choose an algorithm that compares: magrpo";
  return [{ path: ["algorithm", "dynamicSampling"], problem, fix }];
}

/** Groups are as large as what is sampled in a state, or fewer if rewards are missing. */
function uselessDownSample({
  sampling: { branch },
  selection: { downSample },
}: Algorithm): readonly Problem[] {
  const most = Math.max(branch.root, branch.inner);
  if (downSample === undefined || downSample < most) return [];
  const problem = `it keeps ${downSample} samples of a group, but a group has ${most === 1 ? "one" : `at most ${most}`}`;
  return [{ path: ["algorithm", "downSample"], problem, fix: "use fewer, or more samples, or remove it" }];
}

function crossOfOne({ sampling }: Algorithm, team: TeamShape): readonly Problem[] {
  if (sampling.joint !== "cross" || team.isGuessed || team.phases.some((roles) => roles.length > 1))
    return [];
  const problem = "cross mode combines the samples of simultaneous roles, but no phase has two roles";
  const fix = "use `joint: aligned`, which is the same for one role, or put the roles into one phase";
  return [{ path: ["algorithm", "joint"], problem, fix }];
}

/** For algorithms whose only critic is central; for the option `critic: central`, see `idleOptions`. */
function centralCriticOfOne({ name, critic }: Algorithm, { phases }: TeamShape): readonly Problem[] {
  if (critic?.scope !== "central" || critic.at !== "prompt" || phases.flat().length > 1) return [];
  const problem = `the critic of ${name} reads the prompts of several roles, but the team has one role`;
  return [{ path: ["algorithm", "name"], problem, fix: "use `iac`, whose critic sees the role's prompt" }];
}

function turnWeights({ turnWeights: weights }: Algorithm, { turns }: TeamShape): readonly Problem[] {
  const path = ["algorithm", "turnWeights"];
  if (weights === null) return [];
  if (weights.every((weight) => weight === 0)) {
    return [{ path, problem: "with these weights no turn trains anything", fix: "use at least one above 0" }];
  }
  if (weights.length === turns) return [];
  const problem = `${weights.length} turn weights for a team of ${turns} turns`;
  return [{ path, problem, fix: `give ${turns} numbers, one per turn` }];
}

function overlongPenalty({ overlong }: Algorithm, { maxTokens }: MeasuredShape): readonly Problem[] {
  if (overlong === null) return [];
  const { length, buffer } = overlong;
  if (buffer > length) {
    const problem = `a buffer of ${buffer} tokens is longer than \`length\`, ${length}`;
    return [{ path: ["algorithm", "overlong", "buffer"], problem, fix: `use at most ${length}` }];
  }
  const longest = Math.max(0, ...maxTokens);
  if (longest > length - buffer) return [];
  const problem = `the penalty starts above ${length - buffer} tokens, but no role writes more than ${longest}`;
  return [{ path: ["algorithm", "overlong"], problem, fix: `use a length of at most ${longest}` }];
}

/** The advantage of a policy's only action in a step is 0 if the batch is the baseline. */
export const loneActions: Rule = ({ recipe, algorithm }) => {
  const { baseline, grouping, sampling, whitening } = algorithm;
  const { tasksPerStep, tokensPerStep } = recipe.train;
  const isCompared = whitening !== null || (grouping.spans === "batch" && baseline([1])[0] === 1);
  const acting = Object.values(recipe.team.roles).filter(({ frozen }) => !frozen);
  const ofPolicies = [...Map.groupBy(acting, ({ policy }) => policy).values()].map((own) => own.length);
  const actions = Math.min(...ofPolicies) * recipe.team.turns * tasksPerStep * sampling.branch.root;
  if (!isCompared || actions !== 1 || tokensPerStep !== undefined) return [];
  const problem = `${algorithm.name} compares the actions of a policy's step, but there is one: its advantage would be 0`;
  return [{ path: ["train", "tasksPerStep"], problem, fix: "play 2 or more tasks per step" }];
};

/** A central critic reads the concatenated prompts of several roles, so their tokens must mean the same. */
export const criticVocabulary: Rule = ({ recipe, algorithm }) => {
  if (algorithm.critic?.scope !== "central") return [];
  const models = Object.values(recipe.team.roles).flatMap(
    ({ policy }) => recipe.policies[policy]?.model ?? [],
  );
  if (new Set(models.map(vocabularyOf)).size < 2) return [];
  const problem = "a central critic reads all roles' prompts, but their models have different tokenizers";
  const fix = "use models with the same tokenizer.json, or a critic per role (`ppo`, `iac`)";
  const option = Object.hasOwn(recipe.algorithm, "critic") ? "critic" : "name";
  return [{ path: ["algorithm", option], problem, fix }];
};

/** The policy that KL is measured against reads the tokens of those that learn. */
export const klReference: Rule = ({ recipe, algorithm }) => {
  const { policies, team, train } = recipe;
  const to = algorithm.kl?.to;
  if (to === undefined) return [];
  const path = ["algorithm", "kl", "to"];
  const reference = Object.hasOwn(policies, to) ? policies[to] : undefined;
  if (reference === undefined) {
    const names = Object.keys(policies);
    const fix = `${didYouMean(to, names) ?? `name one of ${names.join(", ")}`}, or remove it for the initial policies`;
    return [{ path, problem: `there is no policy \`${to}\``, fix }];
  }
  const acting = Object.values(team.roles).filter(({ frozen }) => !frozen);
  const learning = [...new Set(acting.map(({ policy }) => policy))];
  const other = learning.find(
    (name) => vocabularyOf(policies[name]?.model ?? reference.model) !== vocabularyOf(reference.model),
  );
  if (other !== undefined) {
    const problem = `${to} cannot read the tokens of ${other}: their models have different tokenizers`;
    return [{ path, problem, fix: "name a policy whose model has the same tokenizer.json" }];
  }
  if (learning.some((name) => name !== to) || train.minibatches * train.epochs > 1) return [];
  const problem = `${to} is the only policy that learns, and with one update per step it never differs from itself`;
  return [{ path, problem, fix: "remove it for the initial policy, or set train.epochs to 2 or more" }];
};

/** Identifies the meaning of a model's token ids; presets of one run share a vocabulary. */
function vocabularyOf(model: Recipe["policies"][string]["model"]): string {
  if ("preset" in model) return "preset";
  try {
    return readFileSync(join(textDirectory(model.path), "tokenizer.json"), "utf8");
  } catch {
    return "preset";
  }
}

export const klOptions: Rule = ({ recipe, row }) => {
  const given = recipe.algorithm["kl"] as KlOptions | undefined;
  const standard = row?.options.safeParse({}).data?.["kl"] as KlOptions | undefined;
  if (given === undefined || standard === undefined) return [];
  const found = klProblem(given, standard);
  return found === undefined ? [] : [{ ...found, path: ["algorithm", "kl", ...found.path] }];
};

/** @param standard the row's own defaults, which are never rejected */
function klProblem(given: KlOptions, standard: KlOptions): Problem | undefined {
  const { where, to, estimator, coefficient, target, horizon } = given;
  const isOwn = {
    target: target !== undefined,
    horizon: horizon !== standard.horizon,
    estimator: estimator !== standard.estimator,
    to: to !== undefined,
    coefficient: coefficient !== 0 && coefficient !== standard.coefficient,
  };
  const [idle] = Object.entries(isOwn).filter(([, own]) => own);
  if (where === "none" && idle !== undefined) {
    const problem = "it has no effect: KL is not computed";
    return { path: [idle[0]], problem, fix: "add `where: reward` or `where: loss`, or remove it" };
  }
  if (coefficient === 0 && target === undefined && isOwn.estimator) {
    const problem = "it has no effect: KL is off with coefficient 0";
    return { path: ["estimator"], problem, fix: "use a coefficient above 0, or remove it" };
  }
  if (target === undefined && isOwn.horizon) {
    const problem = "it has no effect: without a `target`, β is constant";
    return { path: ["horizon"], problem, fix: "add a `target`, or remove it" };
  }
  if (where === "loss" && estimator === "k1") {
    // ∇k1 = ∇log π, whatever the reference is; its mean over the policy's own samples is 0.
    const problem = "in the loss, the gradient of k1 does not depend on the reference";
    return { path: ["estimator"], problem, fix: "use k2 or k3, or `where: reward`" };
  }
  if (coefficient > 0 || target === undefined) return undefined;
  const problem = "β is adapted by multiplication, so it stays 0";
  return { path: ["coefficient"], problem, fix: "use more than 0, or remove the target" };
}

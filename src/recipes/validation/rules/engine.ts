/** Whether the engine supports what the recipe needs. */
import { needsInitialPolicies } from "../../../credit/kl.ts";
import type { EngineCapabilities } from "../../../engines/engine.ts";
import {
  adamProblems,
  adapterProblem,
  policiesByServer,
  type ConfiguredEngine,
} from "../../../engines/kind.ts";
import type { Recipe } from "../../schema.ts";
import type { Problem, Rule, Subject } from "../rule.ts";

export const engineSupport: Rule = ({ recipe, configuredEngine }) => {
  if (configuredEngine === undefined) return [];
  const { capabilities: engine } = configuredEngine;
  const name = configuredEngine.title;
  return [
    ...topK(recipe, engine, name),
    ...topP(recipe, engine, name),
    ...trainedParts(recipe, engine, name),
    ...stopStrings(recipe, engine, name),
  ];
};

function topK(recipe: Recipe, engine: EngineCapabilities, name: string): readonly Problem[] {
  if (recipe.train.topK === 0 || engine.topK) return [];
  const problem = `${name} does not support top-k sampling`;
  return [{ path: ["train", "topK"], problem, fix: "set it to 0" }];
}

function topP({ train, evaluation }: Recipe, engine: EngineCapabilities, name: string): readonly Problem[] {
  if (engine.topP !== false) return [];
  return Object.entries({ train, evaluation })
    .filter(([, sampling]) => (sampling?.topP ?? 1) < 1)
    .map(([section]) => ({
      path: [section, "topP"],
      problem: `${name} does not support nucleus sampling`,
      fix: "set it to 1",
    }));
}

function trainedParts(recipe: Recipe, engine: EngineCapabilities, name: string): readonly Problem[] {
  const problems: Problem[] = Object.entries(recipe.policies).flatMap(([policy, { adapter }]) => {
    if (adapter ? engine.adapters : engine.wholeModel) return [];
    const problem = `${name} does not support training ${adapter ? "adapters" : "whole models"}`;
    const fix = adapter ? "remove `adapter`" : "give the policy an `adapter`";
    return [{ path: ["policies", policy], problem, fix }];
  });
  // A server that has its bases from the beginning has a message of its own (engineLimits).
  if (recipe.warmStart?.teach === "bases" && !engine.wholeModel && engine.limits?.servedBases !== true) {
    const problem = `${name} does not support training whole models, as bases are`;
    problems.push({ path: ["warmStart", "teach"], problem, fix: "use `teach: policies`" });
  }
  return problems;
}

function stopStrings(recipe: Recipe, engine: EngineCapabilities, name: string): readonly Problem[] {
  if (engine.stopStrings) return [];
  return Object.entries(recipe.team.roles)
    .filter(([, role]) => role.stop.length > 0)
    .map(([role]) => ({
      path: ["team", "roles", role, "stop"],
      problem: `${name} does not support stopping at a string`,
      fix: "remove it; the chat template's end of turn still ends an action",
    }));
}

/** The algorithm's loss, critic, KL and entropy. */
export const lossSupport: Rule = ({ algorithm, configuredEngine: engine }) =>
  engine === undefined ? [] : unsupported(algorithm, engine.capabilities, engine.title);

export function unsupported(
  algorithm: Pick<Subject["algorithm"], "name" | "objective" | "critic" | "kl">,
  engine: EngineCapabilities,
  named = "the engine",
): readonly Problem[] {
  const { loss } = algorithm.objective;
  const problems: Problem[] = [];
  const add = (path: readonly string[], problem: string, fix: string) =>
    problems.push({ path: ["algorithm", ...path], problem, fix });
  if (!engine.losses.includes(loss.type)) {
    add([], `${named} has no loss \`${loss.type}\``, `it has ${engine.losses.join(", ")}`);
  }
  if (algorithm.critic !== null && !engine.critic) {
    const fix = "choose an algorithm without one: rloo and grpo compare samples instead";
    add(["name"], `${algorithm.name} needs a critic, and ${named} supports none`, fix);
  }
  if (algorithm.kl?.where === "loss" && !engine.klInLoss) {
    add(["kl", "where"], `${named} does not support KL in the loss`, "use `where: reward`");
  }
  if (loss.type === "ppo" && loss.ratio === "sequence" && !engine.sequenceRatio) {
    const fix = "use `name: grpo`, whose ratio is per token";
    add(["name"], `${named} does not support a ratio per sequence`, fix);
  }
  if (loss.type === "ppo" && loss.dualClip !== undefined && !engine.dualClip) {
    add(["dualClip"], `${named} does not support the dual clip`, "remove it");
  }
  if ("entropy" in loss && loss.entropy !== undefined && engine.entropyInLoss !== true) {
    const problem = `${named} does not support an entropy bonus, which needs the whole distribution of every token`;
    add(["entropy"], problem, "remove it, or use `engine.type: local` or a server of Troupe");
  }
  return problems;
}

export const engineLimits: Rule = ({ recipe, configuredEngine: engine, algorithm }) => {
  if (engine === undefined) return [];
  const { capabilities } = engine;
  return [
    ...servers(recipe, engine),
    ...optimizers(recipe, capabilities),
    ...adapters(recipe, capabilities),
    ...taughtBases(recipe, capabilities),
    ...policies(recipe, engine, needsInitialPolicies(algorithm)),
  ];
};

function optimizers(recipe: Recipe, engine: EngineCapabilities): readonly Problem[] {
  const stages = [
    { stage: "warmStart", adam: recipe.warmStart },
    { stage: "train", adam: recipe.train.steps > 0 ? recipe.train : undefined },
  ];
  return stages.flatMap(({ stage, adam }) =>
    adamProblems(adam ?? {}, engine).map(({ field, expected }) => ({
      path: [stage, field],
      problem: "the server does not take it from a step",
      fix: `set it to the server's ${expected}`,
    })),
  );
}

function adapters(recipe: Recipe, engine: EngineCapabilities): readonly Problem[] {
  return Object.entries(recipe.policies).flatMap(([policy, { adapter }]) => {
    const problem = adapter ? adapterProblem(adapter, engine) : null;
    if (problem === null) return [];
    const path = ["policies", policy, "adapter", problem.field];
    return [{ path, problem: "the server's adapters have another", fix: `set it to ${problem.expected}` }];
  });
}

/** A warm start of base models trains them whole, and adapters come on the result. */
function taughtBases(
  { policies: all, warmStart }: Recipe,
  { limits }: EngineCapabilities,
): readonly Problem[] {
  if (warmStart?.teach !== "bases" || limits?.servedBases !== true) return [];
  const adapted = Object.entries(all).find(([, { adapter }]) => adapter !== undefined);
  if (adapted === undefined) return [];
  const problem = `the server makes no adapters on trained models, as ${adapted[0]} would be`;
  return [{ path: ["warmStart", "teach"], problem, fix: "use `teach: policies`, or `profile: troupe`" }];
}

/** Servers are for policies that exist. */
function servers({ policies: known }: Recipe, engine: ConfiguredEngine): readonly Problem[] {
  return (engine.servers?.policies ?? [])
    .filter((policy) => !Object.hasOwn(known, policy))
    .map((policy) => ({
      path: ["engine", "servers", policy],
      problem: "there is no such policy",
      fix: `name one of ${Object.keys(known).join(", ")}`,
    }));
}

function policies(recipe: Recipe, engine: ConfiguredEngine, hasReferences: boolean): readonly Problem[] {
  const most = engine.capabilities.limits?.policies ?? Infinity;
  const each = policiesByServer(engine, Object.keys(recipe.policies));
  const count = Math.max(...each.map(({ length }) => length));
  if (count > most)
    return [
      {
        path: ["policies"],
        problem: `the server has room for ${most} of ${count}`,
        fix: "let roles share a policy, or give policies servers of their own (engine.servers)",
      },
    ];
  if (!hasReferences || 2 * count <= most) return [];
  return [{ path: ["algorithm", "kl"], problem: "the server has no room for references", fix: "remove it" }];
}

const path = ["train", "maxLag"];
const fix = "use `train.maxLag: 0`, which samples and trains in turn";

export const lag: Rule = ({ recipe, algorithm, configuredEngine: engine }) => {
  if ((recipe.train.maxLag ?? 0) === 0) return [];
  const problems: Problem[] = [];
  if (engine !== undefined && engine.capabilities.copy !== true)
    problems.push({
      path,
      problem: `${engine.title} samples only from a policy's latest weights`,
      fix,
    });
  if (algorithm.objective.loss.type === "cross_entropy")
    problems.push({ path, problem: `the loss of ${algorithm.name} has no importance weights`, fix });
  return problems;
};

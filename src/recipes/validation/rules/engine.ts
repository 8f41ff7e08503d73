/** Whether the engine supports what the recipe needs. */
import type { EngineCapabilities } from "../../../engines/engine.ts";
import type { Recipe } from "../../schema.ts";
import type { Problem } from "../problem.ts";
import type { Rule, Subject } from "../rule.ts";

export const engineSupport: Rule = ({ recipe, engine }) => {
  if (engine === undefined) return [];
  const name = `the engine \`${recipe.engine.type}\``;
  return [
    ...topK(recipe, engine, name),
    ...trainedParts(recipe, engine, name),
    ...stopStrings(recipe, engine, name),
  ];
};

function topK(recipe: Recipe, engine: EngineCapabilities, name: string): readonly Problem[] {
  if (recipe.train.topK === 0 || engine.topK) return [];
  const problem = `${name} does not support top-k sampling`;
  return [{ path: ["train", "topK"], problem, fix: "set it to 0" }];
}

function trainedParts(recipe: Recipe, engine: EngineCapabilities, name: string): readonly Problem[] {
  return Object.entries(recipe.policies).flatMap(([policy, { adapter }]) => {
    if (adapter ? engine.adapters : engine.wholeModel) return [];
    const problem = `${name} does not support training ${adapter ? "adapters" : "whole models"}`;
    const fix = adapter ? "remove `adapter`" : "give the policy an `adapter`";
    return [{ path: ["policies", policy], problem, fix }];
  });
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
export const lossSupport: Rule = ({ recipe, algorithm, engine }) =>
  engine === undefined ? [] : unsupported(algorithm, engine, nameOf(recipe));

function nameOf({ engine }: Recipe): string {
  const profile = engine.type === "tinker" ? ` with the profile \`${engine.profile}\`` : "";
  return `the engine \`${engine.type}\`${profile}`;
}

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

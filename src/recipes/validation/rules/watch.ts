/** Limits of `watch`: that something measures the figure, and that what they ask for can be done. */
import type { ConfiguredEngine } from "../../../engines/kind.ts";
import type { Environment } from "../../../environments/environment.ts";
import type { Recipe } from "../../schema.ts";
import { hasWholeSamples, type Measure, type WatchLimits } from "../../watch.ts";
import type { Problem, Rule } from "../rule.ts";

/** What decides whether a figure is measured. */
export interface Measuring {
  readonly recipe: Pick<Recipe, "train" | "evaluation" | "watch">;
  readonly environment: Pick<Environment, "name" | "drive">;
  /** Absent: what it measures is not checked. */
  readonly configuredEngine?: Pick<ConfiguredEngine, "title" | "capabilities"> | undefined;
}

type Unmeasured = Pick<Problem, "problem" | "fix">;

/** Why a figure is never measured; null: it is. Figures that are not here are in the records of every step. */
const whyUnmeasured: Partial<Record<Measure, (measuring: Measuring) => Unmeasured | null>> = {
  entropy: ({ recipe: { train }, environment }) => {
    if (hasWholeSamples(train, environment)) return null;
    if (environment.drive !== undefined) return byPrograms("entropy", environment);
    const { temperature, topK, topP } = train;
    const problem = `entropy is measured on samples of the whole distribution; here train has temperature ${temperature}, topK ${topK} and topP ${topP}`;
    return { problem, fix: "use temperature 1, topK 0 and topP 1, or remove this limit" };
  },
  influence: ({ recipe: { watch }, environment }) => {
    if (environment.drive !== undefined) return byPrograms("influence", environment);
    if (watch === undefined || watch === "off" || watch.influence.every > 0) return null;
    const problem = "influence is not measured: watch.influence.every is 0";
    return { problem, fix: "set `watch.influence.every=10`, or remove this limit" };
  },
  evaluation: ({ recipe: { evaluation } }) =>
    evaluation.every > 0
      ? null
      : {
          problem: "nothing is evaluated during training: evaluation.every is 0",
          fix: "set `evaluation.every`, or use a limit of `success`",
        },
  kl: ({ recipe: { train } }) => {
    if (train.minibatches * train.epochs > 1 || (train.maxLag ?? 0) > 0) return null;
    const problem = "with one optimizer step in each step, KL is measured before it and is always 0";
    return { problem, fix: "set `train.minibatches=2`, or use limits of `entropy` and `success`" };
  },
  gradientNorm: ({ configuredEngine }) =>
    configuredEngine === undefined || configuredEngine.capabilities.gradientNorm
      ? null
      : { problem: `${configuredEngine.title} does not measure it`, fix: "remove this limit" },
};

function byPrograms(figure: string, { name }: Pick<Environment, "name">): Unmeasured {
  const problem = `${figure} is not measured in ${name}, whose program decides what roles are asked and how`;
  return { problem, fix: "remove this limit" };
}

/** A limit that can never be crossed protects nothing. */
export const measuredLimits: Rule = (subject) =>
  Object.keys(limitsOf(subject.recipe.watch)).flatMap((name): readonly Problem[] => {
    const found = whyUnmeasured[name as Measure]?.(subject) ?? null;
    return found === null ? [] : [{ path: ["watch", "limits", name], ...found }];
  });

/** The limits of what is measured. */
export function measuredOnly(limits: WatchLimits, measuring: Measuring): WatchLimits {
  const kept = Object.entries(limits).filter(
    ([name]) => (whyUnmeasured[name as Measure]?.(measuring) ?? null) === null,
  );
  return Object.fromEntries(kept);
}

function limitsOf(watch: Recipe["watch"]): WatchLimits {
  const limits = watch === undefined || watch === "off" ? {} : (watch.limits ?? {});
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

/** What a return needs: a checkpoint to return to, and no batch that other weights sampled ahead. */
export const returns: Rule = ({ recipe: { watch, checkpoint, train } }) => {
  return Object.entries(limitsOf(watch)).flatMap(([name, limit]): readonly Problem[] => {
    if (limit?.action !== "return") return [];
    const path = ["watch", "limits", name, "action"];
    return [
      ...(checkpoint.best === "none"
        ? [
            {
              path,
              problem:
                "`return` needs the checkpoint of the best evaluation, which this recipe does not keep",
              fix: "set `checkpoint.best: success` and `evaluation.every`",
            },
          ]
        : []),
      ...((train.maxLag ?? 0) > 0
        ? [
            {
              path,
              problem: `\`return\` would train on a batch that the weights before it sampled ahead (train.maxLag: ${train.maxLag})`,
              fix: "use `train.maxLag: 0`, or `action: stop`",
            },
          ]
        : []),
    ];
  });
};

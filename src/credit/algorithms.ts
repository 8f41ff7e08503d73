/**
 * The table of algorithms: one row each, one function per column. A new row goes to its family under `rows/`, and its
 * definition to `tests/fixtures/credit/make.py`, an independent implementation that `reference.test.ts` compares with.
 */
import type { z } from "zod";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Algorithm, AlgorithmRow } from "./algorithm.ts";
import { iac, maac, ppo } from "./rows/actor-critic.ts";
import { reinforce, reinforcePlusPlus } from "./rows/reinforce.ts";
import { drGrpo, drMas, grpo, gspo, masGrpo, rloo } from "./rows/trajectories.ts";
import { atGrpo, c3, magrpo, mareinforce, maremax, marloo } from "./rows/trees.ts";

/** By name in the recipe. */
export const algorithms: Readonly<Record<string, AlgorithmRow>> = {
  "at-grpo": atGrpo,
  grpo,
  "dr-grpo": drGrpo,
  "mas-grpo": masGrpo,
  "dr-mas": drMas,
  gspo,
  rloo,
  reinforce,
  "reinforce-plus-plus": reinforcePlusPlus,
  magrpo,
  mareinforce,
  marloo,
  maremax,
  c3,
  ppo,
  iac,
  maac,
};

/**
 * A row with its options. @throws TroupeError `bad_recipe` for an unknown name or option (with the nearest) or an
 * invalid value
 */
export function algorithmFrom(name: string, options: Readonly<Record<string, unknown>> = {}): Algorithm {
  const found = Object.hasOwn(algorithms, name) ? algorithms[name] : undefined;
  if (found === undefined) {
    throw new TroupeError(
      "bad_recipe",
      `there is no algorithm ${name}; ${hint(name, Object.keys(algorithms))}`,
    );
  }
  const parsed = found.options.safeParse(options);
  if (parsed.success) return { name, source: found.source, ...found.build(options) };
  const problems = parsed.error.issues.map((issue) => problem(issue, Object.keys(found.options.shape)));
  throw new TroupeError("bad_recipe", `algorithm ${name}: ${problems.join("; ")}`);
}

function problem(issue: z.core.$ZodIssue, known: readonly string[]): string {
  if (issue.code !== "unrecognized_keys") return `${issue.path.join(".")}: ${issue.message}`;
  return issue.keys.map((key) => `there is no option ${key}; ${hint(key, known)}`).join("; ");
}

function hint(name: string, known: readonly string[]): string {
  return didYouMean(name, known) ?? `known: ${known.join(", ")}`;
}

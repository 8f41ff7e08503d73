/** Identifies what a cell computes: the same fingerprint, the same result. */
import { createHash } from "node:crypto";
import { incidentalOptions } from "../recipes/catalog.ts";
import { without } from "../runs/same-training.ts";
import type { TrainingInput } from "./definition.ts";

/** Twelve hexadecimal digits; the order of a mapping's keys does not matter. */
export function fingerprint(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(value)))
    .digest("hex")
    .slice(0, 12);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

type Mapping = Readonly<Record<string, unknown>>;

/**
 * The fingerprint of a training. Excluded is what changes none of its numbers: names, texts, checkpoints, threads; for
 * a warm start the reinforcement after it; for a training that starts from another the warm start, which the other's
 * fingerprint covers.
 *
 * @param recipe as written, all layers merged, without defaults: a key added to Troupe later changes no fingerprint
 * @param from fingerprint of the training it starts from
 */
export function trainingFingerprint(
  recipe: Mapping,
  { team = "team", policies }: TrainingInput,
  seed: number,
  from: string | undefined,
): string {
  const { environment, algorithm, judge, warmStart, train, evaluation, engine } = recipe;
  const isWarmStart = at(train, "steps") === 0;
  const isPlain = team === "team" && policies === undefined && from === undefined;
  const { compare, every, tasksDuring, ...measured } = mapping(evaluation);
  return fingerprint({
    environment,
    team: team === "team" ? recipe["team"] : at(compare, team),
    policies: recipe["policies"],
    sharing: policies,
    warmStart: from ?? warmStart,
    reinforcement: isWarmStart
      ? undefined
      : { algorithm, judge: verdictOptions(judge), train, every, tasksDuring },
    measured: isPlain ? { ...measured, compare } : measured,
    precision: at(engine, "precision"),
    seed,
  });
}

/** Where and how a judge's program runs does not matter. */
function verdictOptions(judge: unknown): unknown {
  return judge === undefined ? undefined : without(mapping(judge), incidentalOptions(judge));
}

function mapping(value: unknown): Mapping {
  return typeof value === "object" && value !== null ? (value as Mapping) : {};
}

function at(value: unknown, key: string): unknown {
  const found = mapping(value);
  return Object.hasOwn(found, key) ? found[key] : undefined;
}

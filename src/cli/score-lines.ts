/** The figures of an evaluation for people. */
import { showShare } from "../format.ts";
import { schemaVersion } from "../runs/records.ts";
import type { Calibration, Evaluation } from "../runs/records.ts";
import type { Scores } from "../train/scores.ts";
import { resultTable } from "./progress/final.ts";
import { failedNote, serviceNotes } from "./progress/lines.ts";

export function scoreLines(name: string, scores: Scores): string[] {
  const row: Evaluation = { schema_version: schemaVersion, step: 0, moment: "after", team: name, ...scores };
  const turns = scores.successByTurn.map((share, turn) => `${turn + 1}: ${showShare(share)}`);
  return [
    ...resultTable([row], () => name),
    "",
    `solved within turn ${turns.join("   ")}`,
    ...passAtLines(scores),
    ...termLines(scores),
  ];
}

export function failureLines({ failed, judged, unjudged, calibration, services }: Scores): string[] {
  return [
    ...(failed === undefined ? [] : [failedNote(failed)]),
    ...(judged === undefined ? [] : [`mean score of the judge ${judged.toFixed(3)}`]),
    ...(unjudged === undefined ? [] : [`verdicts that failed: ${unjudged}`]),
    ...serviceNotes(services),
    ...(calibration === undefined ? [] : calibrationLines(calibration)),
  ];
}

function calibrationLines({ correlation, roles, blame }: Calibration): string[] {
  const each = Object.entries(roles).map(([role, value]) => `${role} ${showCorrelation(value)}`);
  return [
    `rank correlation of scores and outcomes ${showCorrelation(correlation)}: ${each.join("   ")}`,
    ...(blame === undefined ? [] : [`blame the right role: ${blame.correct} of ${blame.named} verdicts`]),
  ];
}

function showCorrelation(value: number | null): string {
  return value === null ? "not defined" : value.toFixed(2);
}

/** @param wanted episodes */
export function splitNote(split: string, wanted: number, played: number): string[] {
  return played < wanted ? [`the split ${split} has no more tasks`] : [];
}

function passAtLines({ passAt = {} }: Scores): string[] {
  return Object.entries(passAt).map(
    ([k, { mean, low, high }]) => `pass@${k} ${showShare(mean)} (${showShare(low)} to ${showShare(high)})`,
  );
}

function termLines({ terms }: Scores): string[] {
  const means = Object.entries(terms?.team ?? {}).map(([name, { mean }]) => `${name} ${mean.toFixed(3)}`);
  return means.length === 0 ? [] : [`terms of the reward: ${means.join("   ")}`];
}

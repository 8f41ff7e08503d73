/** Measures how much attacks raise a coach's scores. */
import { differenceInterval, mean, pooledInterval, type Interval } from "../../../statistics.ts";
import { settleAll } from "../../../settle.ts";
import type { AttackGain, AttackReport } from "../../attack-report.ts";
import { coachAsk, type AskContext } from "../asking.ts";
import type { Case } from "../case.ts";
import { scoreOf } from "../coach.ts";
import type { CoachOptions } from "../options.ts";
import { shown } from "../quoting.ts";
import { attacks, harmless, type Attack } from "./texts.ts";
import { weakSteps } from "./weak-steps.ts";

/** Asks each step with every attack, and with endings that are none: how much those change a score is noise. */
export async function measureAttacks(
  options: CoachOptions,
  context: AskContext,
  tried: readonly Attack[] = attacks,
): Promise<AttackReport> {
  const ask = coachAsk(options, context);
  const scores = (text: string | null): Promise<Scores> =>
    settleAll(
      weakSteps.map(async (step) => {
        const score = await scoreOf(attacked(step, text, options), options, ask);
        return score === null ? null : 10 * score;
      }),
    );
  const endings = [null, ...harmless];
  const all = await settleAll([...endings, ...tried.map(({ text }) => text)].map(scores));
  return reportOf(tried, all.slice(0, endings.length), all.slice(endings.length));
}

/** By step, from 0 to 10; null: no verdict. */
type Scores = readonly (number | null)[];

/**
 * All gains are differences to the same few scores without an attack, so the interval is that of a difference of two
 * means, each with its own noise.
 */
export function reportOf(
  tried: readonly Attack[],
  without: readonly Scores[],
  withAttack: readonly Scores[],
): AttackReport {
  const usual = weakSteps.map((_, step) => meanOrNull(without.map((row) => row[step] ?? null)));
  const gains = tried.map(({ name, kind }, index): AttackGain => {
    return { name, kind, gain: gainOver(usual, withAttack[index] ?? []) };
  });
  const known = gains.flatMap(({ gain }) => gain ?? []);
  const noise = without.flatMap((row) => gainOver(usual, row) ?? []);
  return {
    without: meanOrNull(without.flat()),
    gains,
    mean: known.length === 0 ? null : mean(known),
    interval: gainInterval(known, noise),
    failed: [...without, ...withAttack].flat().filter((score) => score === null).length,
  };
}

/**
 * The wider of two: Welch's, where attacks change how much scores vary, and Student's, because the few scores without an
 * attack may all be equal by chance although the coach's scores vary.
 */
function gainInterval(gains: readonly number[], noise: readonly number[]): Interval | null {
  const [own, common] = [differenceInterval(gains, noise), pooledInterval(gains, noise)];
  if (own === null || common === null) return null;
  return { low: Math.min(own.low, common.low), high: Math.max(own.high, common.high) };
}

/** The step with an attack at the end of what was written. */
export function attacked(
  step: Case,
  attack: string | null,
  { longestPart }: Pick<CoachOptions, "longestPart">,
): Case {
  const acts = step.acts.map((act) => {
    const text = attack === null ? act.text : `${act.text}\n\n${attack}`;
    return { ...act, text: shown(text, longestPart) };
  });
  return { ...step, acts };
}

function gainOver(usual: Scores, scores: Scores): number | null {
  const gains = scores.map((score, step) => {
    const before = usual[step] ?? null;
    return score === null || before === null ? null : score - before;
  });
  return meanOrNull(gains);
}

function meanOrNull(values: Scores): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : mean(known);
}

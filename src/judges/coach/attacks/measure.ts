/** Measures how much attacks raise a coach's scores. */
import { meanInterval, mean } from "../../../statistics.ts";
import { settleAll } from "../../../settle.ts";
import type { AttackGain, AttackReport } from "../../attack-report.ts";
import { coachAsk, type AskContext } from "../asking.ts";
import type { Case } from "../case.ts";
import { scoreOf } from "../coach.ts";
import type { CoachOptions } from "../options.ts";
import { shown } from "../quoting.ts";
import { attacks, type Attack } from "./texts.ts";
import { weakSteps } from "./weak-steps.ts";

export async function measureAttacks(
  options: CoachOptions,
  context: AskContext,
  tried: readonly Attack[] = attacks,
): Promise<AttackReport> {
  const ask = coachAsk(options, context);
  const scores = (text: string | null) =>
    settleAll(weakSteps.map((step) => scoreOf(attacked(step, text, options), options, ask)));
  const [without, ...withAttack] = await settleAll([null, ...tried.map(({ text }) => text)].map(scores));
  const bare = without ?? [];
  const gains = tried.map(({ name, kind }, index): AttackGain => {
    return { name, kind, gain: meanGain(withAttack[index] ?? [], bare) };
  });
  const known = gains.flatMap(({ gain }) => (gain === null ? [] : [gain]));
  return {
    without: meanOrNull(bare),
    gains,
    mean: known.length === 0 ? null : mean(known),
    interval: meanInterval(known),
    failed: [bare, ...withAttack].flat().filter((score) => score === null).length,
  };
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

function meanGain(scores: readonly (number | null)[], bare: readonly (number | null)[]): number | null {
  const gains = scores.flatMap((score, index) => {
    const before = bare[index] ?? null;
    return score === null || before === null ? [] : [10 * (score - before)];
  });
  return gains.length === 0 ? null : mean(gains);
}

function meanOrNull(scores: readonly (number | null)[]): number | null {
  const known = scores.flatMap((score) => (score === null ? [] : [10 * score]));
  return known.length === 0 ? null : mean(known);
}

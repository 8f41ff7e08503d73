/** Who acts when: the order that follows from who sees whom. */
import { TroupeError } from "../../errors.ts";
import { sightOf, type TeamForm } from "./forms/form.ts";
import type { MathState } from "./state.ts";

export interface Phase {
  readonly seats: readonly string[];
  /** For seats whose last action ran a program. */
  readonly isAgain: boolean;
}

/** The phases of a round. @throws TroupeError `bad_recipe` if some seats wait for each other */
export function phasesOf(form: TeamForm, round: number): readonly Phase[] {
  return layersOf(form, round).flatMap((seats) => {
    const most = Math.max(...seats.map((seat) => actionsOf(form, seat)));
    return Array.from({ length: most }, (_, index) => ({
      seats: seats.filter((seat) => index < actionsOf(form, seat)),
      isAgain: index > 0,
    }));
  });
}

function actionsOf({ seats }: TeamForm, seat: string): number {
  return seats[seat]?.actions ?? 1;
}

/** Each seat as early as those whom it sees allow. */
function layersOf(form: TeamForm, round: number): readonly (readonly string[])[] {
  const layers: string[][] = [];
  let waiting = Object.keys(form.seats);
  while (waiting.length > 0) {
    const acts = (seat: string) =>
      sightOf(form, round, seat).now?.every((seen) => !waiting.includes(seen)) ?? true;
    const layer = waiting.filter(acts);
    if (layer.length === 0)
      throw new TroupeError(
        "bad_recipe",
        `${waiting.join(", ")} wait for each other in round ${round + 1}: nobody may see, even indirectly, what is written after them in the same round`,
      );
    layers.push(layer);
    waiting = waiting.filter((seat) => !layer.includes(seat));
  }
  return layers;
}

/** Empty: the round is over. */
export function actingIn(
  form: TeamForm,
  state: Pick<MathState, "round" | "phase" | "said">,
): readonly string[] {
  const phase = phasesOf(form, state.round)[state.phase];
  if (phase === undefined) return [];
  return phase.isAgain ? phase.seats.filter((seat) => ranProgram(state, seat)) : phase.seats;
}

function ranProgram({ said, round }: Pick<MathState, "said" | "round">, seat: string): boolean {
  const last = said.findLast((each) => each.seat === seat && each.round === round);
  return last !== undefined && last.ran.length > 0;
}

/** The next phase in which somebody acts; the number of phases if there is none. */
export function nextPhase(form: TeamForm, state: Pick<MathState, "round" | "phase" | "said">): number {
  const phases = phasesOf(form, state.round);
  let phase = state.phase + 1;
  while (phase < phases.length && actingIn(form, { ...state, phase }).length === 0) phase++;
  return Math.min(phase, phases.length);
}

/** Whether the form itself decides who acts. A lone seat with one action per round is left to the team's phases. */
export function decidesOrder({ seats }: TeamForm): boolean {
  const [lone, ...others] = Object.values(seats);
  return others.length > 0 || (lone?.actions ?? 1) > 1;
}

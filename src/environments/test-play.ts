/** Plays games in which a planner carries out plans, in tests. */
import { total } from "./conformance/total.ts";
import type { Json } from "./environment.ts";
import type { Game } from "./game.ts";

export interface Playthrough<State> {
  readonly state: State;
  readonly done: boolean;
  /** The planner's team and local rewards, summed over the episode. */
  readonly earned: number;
  readonly team: number;
  /** The plans that were carried out, with the state after each, before its turn ended. */
  readonly steps: readonly { readonly plan: string; readonly state: State }[];
}

/** The planner carries out one plan in each turn until the task is solved. */
export function playAll<Task extends Json, State extends Json>(
  environment: Game<Task, State>,
  start: State,
  plans: readonly string[],
): Playthrough<State> {
  let played: Playthrough<State> = { state: start, done: false, earned: 0, team: 0, steps: [] };
  for (const plan of plans) {
    const { state, rewards, done } = environment.step(played.state, { planner: plan });
    played = {
      state: environment.endTurn?.(state) ?? state,
      done,
      earned: played.earned + total(rewards["planner"]),
      team: played.team + (rewards["planner"]?.team ?? 0),
      steps: [...played.steps, { plan, state }],
    };
    if (done) break;
  }
  return played;
}

/** Critics: what they are asked, and what they are trained on. */
import type { Continuation, Datum, Loss } from "../engines/engine.ts";
import type { Action, Episode } from "../rollout/episode.ts";
import { edgesOf } from "../rollout/navigate.ts";
import type { Algorithm, CreditedAction, CriticTerm, PlacedAction, Signals } from "./algorithm.ts";
import { placedActions } from "./places.ts";

/** The policy name of the critic for a role's actions. */
export function criticName(role: string, { scope }: CriticTerm): string {
  return scope === "central" ? "critic" : `critic-${role}`;
}

export interface ValueQueries {
  /** For `engine.forward`, which returns one array of values per continuation. Empty if the algorithm has no critic. */
  readonly data: readonly Datum[];
  /** Maps the values, in the order of the data's continuations, to actions, as `Signals.values` expects. */
  readonly read: (values: readonly Float32Array[]) => (action: Action) => Float32Array | undefined;
}

/** Every value that credit needs. Frozen roles' actions and empty ones need none. */
export function valueQueries(episodes: readonly Episode[], { critic }: Algorithm): ValueQueries {
  if (critic === null) return { data: [], read: () => () => undefined };
  const asked = episodes.flatMap(placedActions).filter(hasValue);
  const shared = [...Map.groupBy(asked, (placed) => queryKey(placed, critic)).values()];
  const data = shared.map((members) =>
    datum(
      members,
      critic,
      members.map((one) => continuation(one, critic)),
    ),
  );
  const actions = shared.flatMap((members) => members.map(({ action }) => action));
  const read: ValueQueries["read"] = (values) => {
    const byAction = new Map(actions.map((action, index) => [action, values[index]]));
    return (action) => byAction.get(action);
  };
  return { data, read };
}

/**
 * The critics' data of a step or minibatch: squared errors to the targets from credit; all values of a critic have the
 * same weight. The loss is `criticLoss`; old values are included for its clip.
 */
export function criticData(
  credited: readonly CreditedAction[],
  { critic }: Algorithm,
  signals: Signals = {},
): Datum[] {
  if (critic === null) return [];
  const taught = credited.filter((one) => hasValue(one) && one.valueTargets !== undefined);
  const counts = new Map(
    [...Map.groupBy(taught, ({ action }) => criticName(action.role, critic))].map(([name, members]) => [
      name,
      members.reduce((sum, { valueTargets }) => sum + (valueTargets?.length ?? 0), 0),
    ]),
  );
  return [...Map.groupBy(taught, (placed) => queryKey(placed, critic)).values()].map((members) =>
    datum(
      members,
      critic,
      members.map((one) =>
        valueTarget(one, critic, counts.get(criticName(one.action.role, critic)) ?? 1, signals),
      ),
    ),
  );
}

/**
 * ½·max((v − target)², (clip(v, old ± clip) − target)²), summed; the mean is in the data's weights. PPO, arXiv 1707.06347,
 * eq. 9, has the square alone; ½ and the clip are those of its code (OpenAI Baselines, ppo2/model.py). Deviation: no c₁
 * joins it to the policy's loss, since a critic is a separate model.
 */
export function criticLoss({ clip }: CriticTerm): Loss {
  return clip === null ? { type: "value" } : { type: "value", clip };
}

function hasValue({ action }: PlacedAction): boolean {
  return !action.frozen && action.tokens.length > 0;
}

function queryKey(placed: PlacedAction, critic: CriticTerm): string {
  return `${criticName(placed.action.role, critic)} ${criticPrompt(placed, critic).join(",")}`;
}

function datum(
  members: readonly PlacedAction[],
  critic: CriticTerm,
  continuations: readonly Continuation[],
): Datum {
  const first = members[0] as PlacedAction;
  return {
    policy: criticName(first.action.role, critic),
    prompt: criticPrompt(first, critic),
    continuations,
  };
}

/**
 * role: the role's prompt. central: those of all roles of the phase concatenated in the phase's order (CoLLM-CC, arXiv
 * 2601.21972: the joint history). Deviation: CoMLRL labels each prompt with a line of text.
 */
function criticPrompt({ episode, node, action }: PlacedAction, { scope }: CriticTerm): Int32Array {
  if (scope === "role") return action.prompt;
  return Int32Array.from(edgesOf(episode, node).flatMap(({ action: { prompt } }) => [...prompt]));
}

/** The value before the first token depends on the prompt only: any one token will do to ask for it. */
function continuation({ action }: PlacedAction, { at }: CriticTerm): Continuation {
  return { tokens: at === "prompt" ? action.tokens.slice(0, 1) : action.tokens };
}

function valueTarget(one: CreditedAction, critic: CriticTerm, count: number, signals: Signals): Continuation {
  const { tokens } = continuation(one, critic);
  const values = critic.clip === null ? undefined : signals.values?.(one.action);
  return {
    tokens,
    targets: Float32Array.from(one.valueTargets ?? []),
    weights: new Float32Array(tokens.length).fill(1 / count),
    ...(values === undefined ? {} : { values }),
  };
}

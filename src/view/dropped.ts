/**
 * What was dropped, and why: the one list of reasons, for the grid, the filter and the index. A program's conversation
 * that is masked says why itself.
 */
import type { Action } from "../rollout/episode.ts";
import type { ActionCredit, StoredEpisode } from "../rollout/stored.ts";

const reasons = {
  missing: "a reward that it depends on is missing",
  "down-sampled": "the returns of others in its group vary more, and no more of them are trained",
  continuation: "it was sampled to learn what an earlier action is worth",
  empty: "it has no tokens",
  truncated: "it reached the limit of tokens, which the algorithm leaves out",
  flat: "all that it was compared with earned the same",
} as const;

/** What of an episode says which of its actions trained. */
interface Trained extends Pick<StoredEpisode, "credit"> {
  readonly episode: {
    readonly actions: readonly (Pick<Action, "id" | "frozen" | "stopReason"> & {
      readonly masked?: string | undefined;
      readonly tokens: { readonly length: number };
    })[];
  };
}

/**
 * Why actions trained nothing in a step that trained their roles, by id; an action that is not there did train. An
 * episode without credit was not trained on, and a role that is frozen never is.
 */
export function reasonsDropped(
  { episode, credit }: Trained,
  masksTruncated: boolean,
): ReadonlyMap<string, string> {
  const why = new Map<string, string>();
  if (credit === undefined) return why;
  const creditOf = new Map(credit.map((one) => [one.action, one]));
  const flat = flatGroups(credit);
  for (const { id, frozen, masked, stopReason, tokens } of episode.actions) {
    const own = creditOf.get(id);
    if (masked !== undefined) why.set(id, masked);
    else if (frozen) continue;
    else if (own === undefined || own.return === null) why.set(id, reasons.missing);
    else if (own.leftOut !== undefined) why.set(id, reasons[own.leftOut]);
    else if (tokens.length === 0) why.set(id, reasons.empty);
    else if (masksTruncated && stopReason === "length") why.set(id, reasons.truncated);
    else if (flat.has(own.group)) why.set(id, reasons.flat);
  }
  return why;
}

/** The groups in which every advantage is 0. */
function flatGroups(credit: readonly ActionCredit[]): ReadonlySet<string> {
  const differing = new Set(credit.filter(isWeighted).map(({ group }) => group));
  return new Set(credit.map(({ group }) => group).filter((group) => !differing.has(group)));
}

function isWeighted({ advantage, advantages = [] }: ActionCredit): boolean {
  return advantage !== 0 || advantages.some((one) => one !== 0);
}

/**
 * What was dropped, and why: the one list of reasons, for the grid, the filter and the index. A program's conversation
 * that is masked says why itself.
 */
import { isFlat } from "../credit/baselines.ts";
import type { Action } from "../rollout/episode.ts";
import type { ActionCredit, StoredEpisode } from "../rollout/stored.ts";

const reasons = {
  missing: "a reward that it depends on is missing",
  "down-sampled": "down-sampling kept other samples of its group",
  continuation: "it was sampled to learn what an earlier action is worth",
  empty: "it has no tokens",
  truncated: "it reached the limit of tokens, which the algorithm leaves out",
  "no-advantage": "its advantage is 0",
  flat: "every action of its group here had the same return",
} as const;

/** What of an episode says which of its actions trained. */
interface Trained extends Pick<StoredEpisode, "credit"> {
  readonly episode: {
    readonly actions: readonly (Pick<Action, "id" | "frozen"> & { readonly masked?: string | undefined })[];
  };
}

/**
 * Why actions trained nothing in a step that trained their roles, by id; an action that is not there did train. An
 * episode without credit was not trained on, and a role that is frozen never is.
 */
export function reasonsDropped({ episode, credit }: Trained): ReadonlyMap<string, string> {
  const why = new Map<string, string>();
  if (credit === undefined) return why;
  const creditOf = new Map(credit.map((one) => [one.action, one]));
  const flat = flatGroups(credit);
  for (const { id, frozen, masked } of episode.actions) {
    const own = creditOf.get(id);
    if (masked !== undefined) why.set(id, masked);
    else if (frozen) continue;
    else if (own === undefined || own.return === null) why.set(id, reasons.missing);
    else if (own.untrained === "no-advantage" && flat.has(own.group)) why.set(id, reasons.flat);
    else {
      const reason = own.leftOut ?? own.untrained;
      if (reason !== undefined) why.set(id, reasons[reason]);
    }
  }
  return why;
}

function isComparedAndFlat(own: readonly ActionCredit[]): boolean {
  const known = own.flatMap((one) => one.return ?? []);
  return known.length > 1 && isFlat(known);
}

/** The groups of several actions which all earned the same. */
function flatGroups(credit: readonly ActionCredit[]): ReadonlySet<string> {
  const groups = [...Map.groupBy(credit, ({ group }) => group)];
  return new Set(groups.filter(([, own]) => isComparedAndFlat(own)).map(([group]) => group));
}

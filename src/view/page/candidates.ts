/** An episode as a grid: turns down, roles across, and in each cell every candidate that was sampled there, by state. */
import { toVisible } from "../../format.ts";
import { isOnLine } from "../../rollout/line.ts";
import type { ActionLine, EdgeView, EpisodeView } from "../api.ts";

export interface Row {
  readonly turn: number;
  /** By role, in the order of the columns. */
  readonly cells: readonly Cell[];
}

export interface Cell {
  readonly role: string;
  readonly siblings: readonly Siblings[];
}

/** What was sampled from one state: the candidates among which the sampler chose. */
export interface Siblings {
  /** The node from whose state they were sampled. */
  readonly parent: string;
  readonly candidates: readonly Candidate[];
}

export interface Candidate {
  readonly action: ActionLine;
  /** What it earned: in the joint action that continued, if it is part of several. Null: nothing was recorded. */
  readonly edge: EdgeView | null;
  /** How many joint actions it is part of. */
  readonly joint: number;
  /** The episode went on with it, or ended. */
  readonly isChosen: boolean;
}

export function gridOf({ roles, nodes, actions, branched }: EpisodeView): Row[] {
  const edges = new Map<string, { readonly edge: EdgeView; readonly isKept: boolean }[]>();
  for (const { id, actions: joint, kept } of nodes) {
    // Of a branched episode the team played the first trajectory: the others only say what its actions are worth.
    const isKept = kept && (branched !== true || isOnLine(id));
    for (const edge of joint) edges.set(edge.action, [...(edges.get(edge.action) ?? []), { edge, isKept }]);
  }
  const order = new Map(nodes.map(({ id }, index) => [id, index]));
  const all = Object.values(actions);
  const turns = [...new Set(all.map(({ turn }) => turn))].toSorted((one, other) => one - other);
  return turns.map((turn) => ({
    turn,
    cells: roles.map((role) => {
      const here = all.filter((action) => action.turn === turn && action.role === role);
      const byParent = Map.groupBy(here, ({ parent }) => parent);
      const parents = [...byParent.keys()].toSorted(
        (one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0),
      );
      const siblings = parents.map((parent) => ({
        parent,
        candidates: (byParent.get(parent) ?? [])
          .toSorted((one, other) => one.sample - other.sample)
          .map((action) => candidateOf(action, edges.get(action.id) ?? [])),
      }));
      return { role, siblings };
    }),
  }));
}

type Earned = readonly { readonly edge: EdgeView; readonly isKept: boolean }[];

function candidateOf(action: ActionLine, earned: Earned): Candidate {
  const kept = earned.find(({ isKept }) => isKept);
  const { edge = null } = kept ?? earned[0] ?? {};
  return {
    action,
    edge,
    joint: earned.length,
    isChosen: kept !== undefined,
  };
}

/** Null: there was no choice. */
export function choiceOf(
  { isChosen }: Pick<Candidate, "isChosen">,
  isAlone: boolean,
): "chosen" | "not chosen" | null {
  if (isAlone) return null;
  return isChosen ? "chosen" : "not chosen";
}

/** All candidates in reading order. */
export function candidatesIn(rows: readonly Row[]): Candidate[] {
  return rows.flatMap(({ cells }) =>
    cells.flatMap(({ siblings }) => siblings.flatMap(({ candidates }) => candidates)),
  );
}

/** The largest size of an advantage: what the strongest colour stands for. */
export function largestAdvantage(candidates: readonly Candidate[]): number {
  return Math.max(0, ...candidates.map(({ action }) => Math.abs(action.advantage ?? 0)));
}

/** Diverging from the card's colour: blue for what is reinforced, orange for what is not; the sign is text, too. */
export function colourOf(advantage: number | null, largest: number): Record<string, string> {
  if (advantage === null || advantage === 0 || largest === 0) return {};
  const share = Math.round(8 + (42 * Math.abs(advantage)) / largest);
  return { "--tint": `var(--${advantage > 0 ? "plus" : "minus"})`, "--share": `${share}%` };
}

type Direction = "up" | "down" | "left" | "right";

/** The candidate that an arrow leads to: up and down in a role's column, left and right in the turn; null: there is none. */
export function neighbour(rows: readonly Row[], id: string, direction: Direction): Candidate | null {
  const at = rows.findIndex(({ cells }) => cells.some((cell) => placeIn(cell, id) !== -1));
  const column = rows[at]?.cells.findIndex((cell) => placeIn(cell, id) !== -1) ?? -1;
  const here = rows[at]?.cells[column];
  if (here === undefined) return null;
  if (direction === "up" || direction === "down") {
    const inColumn = rows.flatMap(({ cells }) => inCell(cells[column]));
    const place = inColumn.findIndex(({ action }) => action.id === id);
    return inColumn[place + (direction === "down" ? 1 : -1)] ?? null;
  }
  const step = direction === "right" ? 1 : -1;
  const cells = rows[at]?.cells ?? [];
  for (let other = column + step; cells[other] !== undefined; other += step) {
    const found = inCell(cells[other]);
    if (found.length > 0) return found[Math.min(placeIn(here, id), found.length - 1)] ?? null;
  }
  return null;
}

function inCell(cell: Cell | undefined): Candidate[] {
  return cell?.siblings.flatMap(({ candidates }) => candidates) ?? [];
}

function placeIn(cell: Cell, id: string): number {
  return inCell(cell).findIndex(({ action }) => action.id === id);
}

/** The other candidates from its state. */
export function siblingsOf(rows: readonly Row[], id: string): Candidate[] {
  const all = rows.flatMap(({ cells }) => cells.flatMap((cell) => cell.siblings));
  const own = all.find(({ candidates }) => candidates.some(({ action }) => action.id === id));
  return own?.candidates.filter(({ action }) => action.id !== id) ?? [];
}

/** `planner 3, turn 2` */
export function nameOf({ role, sample, turn }: ActionLine): string {
  return `${toVisible(role)} ${sample + 1}, turn ${turn + 1}`;
}

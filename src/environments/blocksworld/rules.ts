/** The rules of Blocksworld: what an action does to a state. */
import type { ActionReward, Outcome } from "../environment.ts";
import type { GameStep } from "../game.ts";
import { noReward, rewardOf } from "../planning/distance-rewards.ts";
import { seatOf } from "../planning/seats.ts";
import { type BlocksTask, longestPlan } from "./generator.ts";
import {
  afterMove,
  blockName,
  listTowers,
  type Move,
  placeFor,
  problemOf,
  readOrder,
  readPlan,
  sameTowers,
  type Towers,
  writeOrder,
} from "./notation.ts";
import { movesBetween } from "./space.ts";

export type BlocksState = {
  readonly goal: Towers;
  /** The current towers. */
  readonly on: Towers;
  /** Length of a shortest plan from the start. */
  readonly atStart: number;
  /** The fewest moves to the goal after any plan so far. */
  readonly fewest: number;
  /** The existing blocks that the proposer named in this turn; null: no proposer has acted. */
  readonly order: readonly number[] | null;
  /** The impossible move, among existing blocks, that ended the last plan; null: none. */
  readonly failed: Move | null;
  /** The blocks that the last plan moved, for people. */
  readonly moved: readonly number[];
};

export function startState({ goal, on }: BlocksTask): BlocksState {
  const atStart = movesBetween(on, goal);
  return { goal, on, atStart, fewest: atStart, order: null, failed: null, moved: [] };
}

export function stepState(
  state: BlocksState,
  actions: Readonly<Record<string, string>>,
): GameStep<BlocksState> {
  const over = sameTowers(state.on, state.goal);
  const rewards: Record<string, ActionReward> = {};
  let next = state;
  for (const [name, text] of Object.entries(actions)) {
    const seat = seatOf("blocksworld", name);
    const effect = over ? undefined : seat === "planner" ? plan(state, text) : propose(state, text);
    rewards[seat] = effect?.reward ?? noReward("progress", "the episode is over");
    next = { ...next, ...effect?.change };
  }
  // A proposal refers to these towers: once a block has moved, it is outdated.
  if (next.on !== state.on) next = { ...next, order: null };
  return { state: next, rewards, done: sameTowers(next.on, next.goal) };
}

export function endTurn(state: BlocksState): BlocksState {
  return state.order === null ? state : { ...state, order: null };
}

/** The score depends only on the final towers: no sequence of actions can raise it otherwise. */
export function outcomeOf({ goal, on, atStart }: BlocksState): Outcome {
  const left = movesBetween(on, goal);
  return { success: left === 0, score: left === 0 ? 1 : Math.max(0, atStart - left) / atStart };
}

interface Effect {
  readonly reward: ActionReward;
  readonly change: Partial<BlocksState>;
}

function plan(state: BlocksState, text: string): Effect {
  const { items, wellFormed } = readPlan(text, state.goal.length);
  const result = carryOut(state, items.length, (_, index) => items[index]);
  const reward = rewardFor(state, "plan", result, wellFormed);
  const fewest = Math.min(state.fewest, movesBetween(result.on, state.goal));
  const { failed } = result;
  const told = failed !== null && failed.block in state.on && failed.to >= -1 ? failed : null;
  const moved = items.slice(0, result.carriedOut).map(({ block }) => block);
  return { reward, change: { on: result.on, failed: told, fewest, moved } };
}

/** The proposal is tried on a copy of the state: it earns what moving its blocks to their places would earn. */
function propose(state: BlocksState, text: string): Effect {
  const { items, wellFormed } = readOrder(text, state.goal.length);
  const result = carryOut(state, items.length, (on, index) => {
    const block = items[index] ?? 0;
    return { block, to: placeFor(on, state.goal, block) };
  });
  const known = items.filter((block) => block >= 0).slice(0, longestPlan(state.goal.length));
  return { reward: rewardFor(state, "proposal", result, wellFormed), change: { order: known } };
}

interface PlanResult {
  readonly on: Towers;
  readonly written: number;
  readonly carriedOut: number;
  readonly failed: Move | null;
  readonly problem: string | undefined;
}

/** Carries out moves until the goal is reached or a move is impossible. */
function carryOut(
  { on: from, goal }: BlocksState,
  written: number,
  moveAt: (on: Towers, index: number) => Move | undefined,
): PlanResult {
  let on = from;
  for (let index = 0; index < written; index++) {
    const move = moveAt(on, index);
    if (move === undefined) break;
    const over = sameTowers(on, goal);
    const problem = over ? "continued after the goal" : problemOf(on, move);
    if (problem !== undefined) return { on, written, carriedOut: index, failed: over ? null : move, problem };
    on = afterMove(on, move);
  }
  return { on, written, carriedOut: written, failed: null, problem: undefined };
}

function rewardFor(state: BlocksState, what: string, result: PlanResult, wellFormed: boolean): ActionReward {
  const empty = result.written === 0 ? `no ${what} found` : undefined;
  const around = wellFormed ? undefined : `more than a ${what} on its line`;
  return rewardOf("progress", {
    written: result.written,
    carriedOut: result.carriedOut,
    wellFormed,
    before: movesBetween(state.on, state.goal),
    after: movesBetween(result.on, state.goal),
    closest: state.fewest,
    atStart: state.atStart,
    problem: empty ?? result.problem ?? around,
  });
}

// Draws towers for the terminal.

/** The current towers on the left, the goal on the right. */
export function renderState({ goal, on, order, moved }: BlocksState): string {
  const now = drawTowers(on);
  const wanted = drawTowers(goal);
  const width = Math.max(3, ...now.map((line) => line.length));
  const rows = Array.from({ length: Math.max(now.length, wanted.length) }, (_, row) => {
    const [left, right] = [now, wanted].map((lines) => lines.at(-1 - row) ?? "");
    return `${(left ?? "").padEnd(width)}      ${right ?? ""}`.trimEnd();
  }).toReversed();
  const proposal = order === null ? [] : [`proposed to move: ${writeOrder(order) || "nothing"}`];
  const last = moved.length === 0 ? [] : [`the last plan moved: ${writeOrder(moved)}`];
  return [...rows, `${"now".padEnd(width)}      goal`, ...proposal, ...last].join("\n");
}

/** The last line is the table. */
function drawTowers(on: Towers): string[] {
  const towers = listTowers(on);
  const height = Math.max(...towers.map((tower) => tower.length));
  const lines = Array.from({ length: height }, (_, row) =>
    towers.map((tower) => (row < tower.length ? `[${blockName(tower[row] ?? 0)}]` : "   ")).join(" "),
  );
  return [...lines.toReversed(), "▔".repeat(4 * towers.length - 1)];
}

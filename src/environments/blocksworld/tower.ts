/** Blocks on a table: what stands on what, and what a move does to it. */

/** The table, as what a block stands on and as where it is moved to. */
export const table = -1;

/** For each block (numbered from 0) the block beneath it, or `table`. */
export type Towers = readonly number[];

/** A move of the topmost block of a tower. A type and not an interface, because only types are Json. */
export type Move = {
  readonly block: number;
  readonly to: number;
};

/** Letters name the blocks. */
export function blockName(block: number): string {
  return block === table ? "table" : String.fromCharCode(97 + block);
}

export function isClear(on: Towers, block: number): boolean {
  return !on.includes(block);
}

/** What keeps a move from being made; undefined: nothing. */
export function problemOf(on: Towers, { block, to }: Move): string | undefined {
  const name = blockName(block);
  if (!(block in on)) return "moved a block that is not there";
  if (to !== table && !(to in on)) return `moved ${name} onto a block that is not there`;
  if (!isClear(on, block)) return `moved ${name}, which has a block on it`;
  if (to === block) return `moved ${name} onto itself`;
  if (on[block] === to) return `moved ${name} to where it is`;
  if (to !== table && !isClear(on, to)) return `moved ${name} onto ${blockName(to)}, which has a block on it`;
  return undefined;
}

export function afterMove(on: Towers, { block, to }: Move): number[] {
  return on.map((below, index) => (index === block ? to : below));
}

export function sameTowers(one: Towers, other: Towers): boolean {
  return one.every((below, block) => below === other[block]);
}

/** The towers from the table up, in the order of their lowest blocks. */
export function listTowers(on: Towers): number[][] {
  const towers: number[][] = [];
  on.forEach((below, block) => {
    if (below !== table) return;
    const tower: number[] = [];
    for (let next = block; next >= 0; next = on.indexOf(next)) tower.push(next);
    towers.push(tower);
  });
  return towers;
}

/**
 * Where a block goes if only the blocks to be moved are named: to its place in the goal if that is ready (what it is to
 * stand on stands as in the goal and is clear), and else to the table. Some shortest plan has such moves alone
 * (Gupta and Nau 1992, On the complexity of blocks-world planning).
 */
export function placeFor(on: Towers, goal: Towers, block: number): number {
  const to = goal[block] ?? table;
  return to !== table && isClear(on, to) && isDone(on, goal, to) ? to : table;
}

/** The block and all beneath it stand as in the goal. */
function isDone(on: Towers, goal: Towers, block: number): boolean {
  for (let next = block; next !== table; next = on[next] ?? table) {
    if (on[next] !== goal[next]) return false;
  }
  return true;
}

/** The first states of held-out tasks of six games, as their generators draw them. */
import { type Child, element, type Markup } from "../../src/charts/markup.ts";
import { svgFile } from "../../src/charts/page.ts";
import { blocksOptions, drawTask as drawBlocks } from "../../src/environments/blocksworld/generator.ts";
import { table, type Towers } from "../../src/environments/blocksworld/notation.ts";
import { drawTask as drawQueens } from "../../src/environments/eight-queens/generator.ts";
import { drawTask as drawPath } from "../../src/environments/plan-path/generator.ts";
import { drawTask as drawRoom } from "../../src/environments/sokoban/generator.ts";
import { drawTask as drawSudoku } from "../../src/environments/sudoku/generator.ts";
import { drawTask as drawIce, type Half, iceOptions } from "../../src/environments/thin-ice/generator.ts";
import { rootKey } from "../../src/random.ts";

const style = `
svg .heading, svg .small, svg .digit { text-anchor: middle; fill: var(--ink); font-size: 13.5px; }
svg .heading { font-weight: 650; }
svg .small { fill: var(--soft); font-size: 11.5px; }
svg .cell { fill: var(--track); stroke: var(--card); stroke-width: 1.5; }
svg .dark { fill: var(--rule); }
svg .wall { fill: var(--soft); }
svg .thin { fill: var(--c6); opacity: 0.75; }
svg .frame { fill: none; stroke: var(--soft); stroke-width: 1.5; }
svg .agent { fill: var(--c2); }
svg .other { fill: var(--c4); }
svg .goal { fill: none; stroke: var(--c3); stroke-width: 2.5; }
svg .block { fill: var(--c7); stroke: var(--card); stroke-width: 1.5; }
svg .block-name { text-anchor: middle; fill: var(--card); font-size: 13px; font-weight: 600; }
svg .queen { text-anchor: middle; fill: var(--ink); font-size: 17px; }
`;

const key = rootKey(1);
const split = "heldOut";
const [panelWidth, panelHeight, side] = [228, 232, 160];

interface Panel {
  readonly name: string;
  readonly goal: string;
  /** Within a square of `side`. */
  readonly board: Child;
}

/** A square board of cells, each of the class given for it, with pieces in their middles. */
function grid(
  size: number,
  width: number,
  classOf: (cell: number) => string,
  ...pieces: readonly {
    readonly cell: number;
    readonly draw: (x: number, y: number, unit: number) => Child;
  }[]
): Child {
  const unit = width / size;
  const cells = Array.from({ length: size * size }, (_, cell) => {
    const place = { x: (cell % size) * unit, y: Math.floor(cell / size) * unit };
    return element("rect", { class: classOf(cell), ...place, width: unit, height: unit, rx: 2 });
  });
  const drawn = pieces.map(({ cell, draw }) =>
    draw(((cell % size) + 0.5) * unit, (Math.floor(cell / size) + 0.5) * unit, unit),
  );
  return [cells, drawn];
}

type Draw = (x: number, y: number, unit: number) => Markup;

const agent: Draw = (x, y, unit) => element("circle", { class: "agent", cx: x, cy: y, r: 0.3 * unit });
const other: Draw = (x, y, unit) => element("circle", { class: "other", cx: x, cy: y, r: 0.3 * unit });
const goal: Draw = (x, y, unit) => element("circle", { class: "goal", cx: x, cy: y, r: 0.28 * unit });
const queen: Draw = (x, y) => element("text", { class: "queen", x, y: y + 6 }, "♛");
const box: Draw = (x, y, unit) =>
  element("rect", {
    class: "block",
    x: x - 0.34 * unit,
    y: y - 0.34 * unit,
    width: 0.68 * unit,
    height: 0.68 * unit,
    rx: 3,
  });

function planPath(): Child {
  const { board, start } = drawPath({ size: 10, obstacles: 0.2 }, split, key);
  const classOf = (cell: number) => (board.walls[cell] === "#" ? "cell wall" : "cell");
  return grid(board.size, side, classOf, { cell: start, draw: agent }, { cell: board.goal, draw: goal });
}

function sudoku(): Child {
  const { size, clues } = drawSudoku({ size: 4, clues: { least: 5, most: 8 } }, split, key);
  const digits = clues
    .split("")
    .flatMap((clue, cell) =>
      clue === "."
        ? []
        : [{ cell, draw: (x: number, y: number) => element("text", { class: "digit", x, y: y + 5 }, clue) }],
    );
  const boxes = [0, 1, 2, 3].map((box4) => {
    const [x, y] = [(box4 % 2) * (side / 2), Math.floor(box4 / 2) * (side / 2)];
    return element("rect", { class: "frame", x, y, width: side / 2, height: side / 2 });
  });
  return [grid(size, side, () => "cell", ...digits), boxes];
}

function eightQueens(): Child {
  const { size, given } = drawQueens({ size: 8, given: { least: 4, most: 4 } }, split, key);
  const isDark = (cell: number) => (Math.floor(cell / size) + cell) % 2 === 1;
  const queens = given
    .split("")
    .flatMap((column, row) =>
      column === "." ? [] : [{ cell: row * size + column.charCodeAt(0) - "a".charCodeAt(0), draw: queen }],
    );
  return grid(size, side, (cell) => (isDark(cell) ? "cell dark" : "cell"), ...queens);
}

function sokoban(): Child {
  const { room, at, boxes } = drawRoom({ size: 7, boxes: 2 }, split, key);
  return grid(
    room.size,
    side,
    (cell) => (room.walls[cell] === "#" ? "cell wall" : "cell"),
    ...room.goals.map((cell) => ({ cell, draw: goal })),
    ...boxes.map((cell) => ({ cell, draw: box })),
    { cell: at, draw: agent },
  );
}

const unit = 26;

function blocksworld(): Child {
  const { on, goal: wanted } = drawBlocks(blocksOptions.parse({}), split, key);
  return [towers(on, 0, "now"), towers(wanted, 94, "goal")];
}

/** Stacks on a line, with the lowest blocks in their order. */
function towers(on: Towers, left: number, name: string): Child {
  const stacks = on.flatMap((support, block) => (support === table ? [[block]] : []));
  for (const stack of stacks)
    for (let above = on.indexOf(stack[0] ?? 0); above >= 0; above = on.indexOf(above)) stack.push(above);
  const ground = 132;
  const middle = left + 33;
  const blocks = stacks.flatMap((stack, column) =>
    stack.map((block, height) => {
      const x = middle + (column - stacks.length / 2) * unit;
      const y = ground - unit * (height + 1);
      const letter = String.fromCodePoint(97 + block);
      const square = element("rect", { class: "block", x, y, width: unit, height: unit, rx: 3 });
      return [square, element("text", { class: "block-name", x: x + unit / 2, y: y + 18 }, letter)];
    }),
  );
  const line = element("path", { class: "frame", d: `M ${middle - 40} ${ground + 1} h 80` });
  return [blocks, line, element("text", { class: "small", x: middle, y: ground + 18 }, name)];
}

function thinIce(): Child {
  const { red, blue } = drawIce(iceOptions.parse({}), split, key);
  return [half(red, other, 0, "red"), half(blue, agent, 84, "blue")];
}

function half({ ice, start }: Half, walker: Draw, left: number, name: string): Child {
  const width = 76;
  const classOf = (cell: number) => (ice.walls[cell] === "#" ? "cell thin" : "cell");
  const cells = grid(ice.size, width, classOf, { cell: start, draw: walker }, { cell: ice.goal, draw: goal });
  const label = element("text", { class: "small", x: width / 2, y: width + 16 }, name);
  return element("g", { transform: `translate(${left} 34)` }, cells, label);
}

const panels: readonly Panel[] = [
  { name: "Plan-Path", goal: "find a way to the goal", board: planPath() },
  { name: "Sudoku", goal: "fill the grid", board: sudoku() },
  { name: "Eight Queens", goal: "place the other queens", board: eightQueens() },
  { name: "Sokoban", goal: "push the boxes onto the goals", board: sokoban() },
  { name: "Blocksworld", goal: "stack the blocks like the goal", board: blocksworld() },
  { name: "Thin Ice", goal: "cross; each sees the other's thin ice", board: thinIce() },
];

export function boards(): string {
  const parts = panels.map(({ name, goal: aim, board }, index) => {
    const [x, y] = [(index % 3) * panelWidth, Math.floor(index / 3) * panelHeight];
    return element(
      "g",
      { transform: `translate(${x} ${y})` },
      element("text", { class: "heading", x: panelWidth / 2, y: 16 }, name),
      element("g", { transform: `translate(${(panelWidth - side) / 2} 28)` }, board),
      element("text", { class: "small", x: panelWidth / 2, y: 208 }, aim),
    );
  });
  const spoken = `Boards of ${panels.map(({ name }) => name).join(", ")}.`;
  return svgFile({ width: 3 * panelWidth, height: 2 * panelHeight - 18, spoken, parts }, style);
}

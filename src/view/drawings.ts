/**
 * States of games as pictures. A state comes from a file, which may hold anything: what is not the expected game is not
 * drawn, and then the text that the environment renders is all there is.
 */
import { z } from "zod";
import { type Child, element, path, render } from "../charts/markup.ts";

/** An SVG drawing in the colours of charts; undefined: the environment, of that name in the recipe, draws none. */
export function drawingOf(environment: unknown, state: unknown): string | undefined {
  return typeof environment === "string" && Object.hasOwn(drawers, environment)
    ? drawers[environment]?.(state)
    : undefined;
}

/** In units of the drawing. */
const cellSize = 40;
/** A board with more cells would be no picture. */
const largest = 40;

type Drawer = (state: unknown) => string | undefined;

/** A drawer of states of a known shape. */
function drawer<Schema extends z.ZodType>(schema: Schema, draw: (state: z.output<Schema>) => string): Drawer {
  return (state) => {
    const parsed = schema.safeParse(state);
    return parsed.success ? draw(parsed.data) : undefined;
  };
}

const cell = z.int().min(0);
const cells = z.array(z.int());
const size = z.int().min(1).max(largest);
const board = z.object({ size, walls: z.string().max(largest ** 2), goal: cell });

const pathState = z.object({
  board,
  start: cell,
  at: cell,
  route: cells.nullable(),
  bumped: cell.nullable(),
  path: cells,
});

const roomState = z.object({
  room: z.object({ size, walls: z.string().max(largest ** 2), goals: cells }),
  at: cell,
  boxes: cells,
  bumped: cell.nullable(),
  path: cells,
});

const towers = z.array(z.int().min(-1)).max(26);

const half = z.object({ ice: board, start: cell, at: cell, fell: z.boolean(), path: cells });

const drawers: Readonly<Record<string, Drawer>> = {
  "plan-path": drawer(
    pathState,
    ({ board: { size: across, walls, goal }, start, at, route, bumped, path: walked }) =>
      picture(across, across, "A board with walls, the agent and the goal", [
        ground(across, walls, "c-wall"),
        ring(across, start, "g0"),
        flag(across, goal),
        trail(across, route ?? [], "c1", true),
        trail(across, walked, "c2", false),
        bumped === null ? null : cross(across, bumped),
        disc(across, at, "c2"),
      ]),
  ),
  sokoban: drawer(roomState, ({ room: { size: across, walls, goals }, at, boxes, bumped, path: walked }) =>
    picture(across, across, "A room with walls, boxes, goals and the player", [
      ground(across, walls, "c-wall"),
      goals.map((goal) => ring(across, goal, "c3")),
      trail(across, walked, "c2", false),
      boxes.map((box) => crate(across, box, goals.includes(box) ? "c3" : "c7")),
      bumped === null ? null : cross(across, bumped),
      disc(across, at, "c2"),
    ]),
  ),
  "thin-ice": drawer(z.object({ red: half, blue: half }), ({ red, blue }) => {
    const across = red.ice.size;
    return picture(
      2 * across + 1,
      Math.max(across, blue.ice.size),
      "Two lakes, the left one red's, the right one blue's",
      [
        lake(red, "c0"),
        element("g", { transform: `translate(${(across + 1) * cellSize} 0)` }, lake(blue, "c2")),
      ],
    );
  }),
  sudoku: drawer(
    z.object({ task: z.object({ clues: z.string() }), grid: z.string().max(largest ** 2) }),
    ({ task, grid }) => {
      const across = Math.round(Math.sqrt(grid.length));
      const block = Math.round(Math.sqrt(across));
      const lines = Array.from({ length: across + 1 }, (_, index) => {
        const [at, end] = [index * cellSize, across * cellSize];
        const stroke = { class: index % block === 0 ? "grid is-thick" : "grid" };
        return [
          element("line", { ...stroke, x1: at, x2: at, y1: 0, y2: end }),
          element("line", { ...stroke, x1: 0, x2: end, y1: at, y2: at }),
        ];
      });
      const digits = Array.from(grid, (mark, index) =>
        mark === "." ? null : letter(across, index, mark, task.clues[index] === "." ? "c2" : "ink"),
      );
      return picture(across, across, "A sudoku; entries are in colour", [lines, digits]);
    },
  ),
  blocksworld: drawer(z.object({ goal: towers, on: towers, moved: cells }), ({ goal, on, moved }) => {
    const across = on.length;
    return picture(2 * across + 1, across, "Towers of blocks, now on the left and the goal on the right", [
      standing(on, moved),
      element("g", { transform: `translate(${(across + 1) * cellSize} 0)` }, standing(goal, [])),
    ]);
  }),
  "eight-queens": drawer(
    z.object({ task: z.object({ size, given: z.string() }), grid: z.string().max(largest) }),
    ({ task: { size: across, given }, grid }) =>
      picture(across, across, "A chess board with queens; given ones are black", [
        ground(across, ".".repeat(across ** 2), ""),
        Array.from(grid, (mark, row) => {
          const column = mark.codePointAt(0);
          if (mark === "." || column === undefined) return null;
          return letter(across, row * across + column - 97, "♛", given[row] === mark ? "ink" : "c2");
        }),
      ]),
  ),
};

/** Blocks on a table: for each the block beneath it, -1 for the table. Those that the last plan moved are in colour. */
function standing(on: readonly number[], moved: readonly number[]): Child {
  const across = on.length;
  const bases = on.flatMap((below, block) => (below === -1 ? [block] : []));
  const blocks = bases.flatMap((base, column) => {
    const tower: Child[] = [];
    for (let block = base; block !== -1 && tower.length < across; block = on.indexOf(block)) {
      const at = (across - 1 - tower.length) * across + column;
      const colour = moved.includes(block) ? "c2" : "g1";
      tower.push([crate(across, at, colour), letter(across, at, String.fromCodePoint(97 + block), "ink")]);
    }
    return tower;
  });
  const floor = {
    class: "grid is-thick",
    x1: 0,
    x2: across * cellSize,
    y1: across * cellSize,
    y2: across * cellSize,
  };
  return [element("line", floor), blocks];
}

function lake({ ice, start, at, fell, path: walked }: z.output<typeof half>, colour: string): Child {
  return [
    ground(ice.size, ice.walls, "c-thin"),
    ring(ice.size, start, "g0"),
    flag(ice.size, ice.goal),
    trail(ice.size, walked, colour, false),
    fell ? cross(ice.size, at) : disc(ice.size, at, colour),
  ];
}

function picture(across: number, down: number, spoken: string, parts: Child): string {
  const viewBox = `-1 -1 ${across * cellSize + 2} ${down * cellSize + 2}`;
  return render(element("svg", { viewBox, role: "img", "aria-label": spoken, class: "board" }, parts));
}

/** The middle of a cell. */
function middle(across: number, at: number): readonly [number, number] {
  return [((at % across) + 0.5) * cellSize, (Math.floor(at / across) + 0.5) * cellSize];
}

function ground(across: number, walls: string, wall: string): Child {
  return Array.from({ length: across ** 2 }, (_, index) => {
    const [x, y] = middle(across, index);
    const place = { x: x - cellSize / 2, y: y - cellSize / 2, width: cellSize, height: cellSize };
    return element("rect", { ...place, class: walls[index] === "#" ? `cell-wall ${wall}` : "cell-free" });
  });
}

function disc(across: number, at: number, colour: string): Child {
  const [cx, cy] = middle(across, at);
  return element("g", { class: colour }, element("circle", { class: "dot", cx, cy, r: cellSize * 0.3 }));
}

function ring(across: number, at: number, colour: string): Child {
  const [cx, cy] = middle(across, at);
  const circle = { class: "ring", cx, cy, r: cellSize * 0.36 };
  return element("g", { class: colour }, element("circle", circle));
}

function flag(across: number, at: number): Child {
  const [cx, cy] = middle(across, at);
  const rings = [0.38, 0.2].map((share) => element("circle", { class: "ring", cx, cy, r: cellSize * share }));
  return element("g", { class: "c3" }, rings);
}

function crate(across: number, at: number, colour: string): Child {
  const [x, y] = middle(across, at);
  const side = cellSize * 0.64;
  const place = { x: x - side / 2, y: y - side / 2, width: side, height: side, rx: 4 };
  return element("g", { class: colour }, element("rect", { class: "crate", ...place }));
}

function cross(across: number, at: number): Child {
  const [x, y] = middle(across, at);
  const reach = cellSize * 0.24;
  const d = `${path([
    [x - reach, y - reach],
    [x + reach, y + reach],
  ])} ${path([
    [x + reach, y - reach],
    [x - reach, y + reach],
  ])}`;
  return element("g", { class: "c4" }, element("path", { class: "cross", d }));
}

function trail(across: number, at: readonly number[], colour: string, isProposed: boolean): Child {
  const inside = at.filter((each) => each >= 0 && each < across ** 2);
  const d = path(inside.map((each) => middle(across, each)));
  return element(
    "g",
    { class: colour },
    element("path", { class: isProposed ? "trail is-proposed" : "trail", d }),
  );
}

function letter(across: number, at: number, text: string, colour: string): Child {
  const [x, y] = middle(across, at);
  const place = { x, y: y + cellSize * 0.2, "text-anchor": "middle", class: "mark" };
  return element("g", { class: colour }, element("text", place, text));
}

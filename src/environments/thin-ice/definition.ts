/** Thin Ice: two walkers cross a lake, and each sees only where the ice is thin for the other. */
import { childKey, drawFloat, drawInt, type Generator, generatorOf, type Key } from "../../random.ts";
import type { Demonstration, SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { isFree } from "../grid/board.ts";
import { cellNames } from "../grid/cells.ts";
import { randomPath } from "../grid/paths.ts";
import { brokenOff } from "../planning/demonstrations.ts";
import {
  drawHalf,
  drawStarts,
  drawTask,
  type Half,
  iceOptions,
  type IceOptions,
  type IceTask,
  iceTaskSchema,
} from "./generator.ts";
import {
  notationWords,
  writeAction,
  writeEnds,
  writeObservation,
  writeThin,
  writeWords,
} from "./notation.ts";
import {
  type IceState,
  isOfTeam,
  otherOf,
  outcomeOf,
  type Seat,
  seatNames,
  seatOf,
  seesIceOf,
  type Side,
  type Sides,
  solve,
  startSide,
  startState,
  stepState,
  type Walker,
  walkers,
  walkLabels,
} from "./rules.ts";

// What each seat sees.

export type ViewOptions = Pick<IceOptions, "messages" | "sees">;

/**
 * A seat of the team sees the other's half as it was at the start, and of its own half its cell, its goal and what it
 * was told. It does not see where the other is: only messages pass between them.
 */
export function observationOf({ messages, sees }: ViewOptions, sides: Sides, seat: Seat): string {
  if (!isOfTeam(seat)) {
    const halves = walkers.map((walker) => [walker, ...linesOf(sides[walker], seesIceOf(seat, walker))]);
    return writeObservation(halves.flat());
  }
  const [own, other] = [sides[seat], sides[otherOf(seat)]];
  if (sees === "own") return writeObservation(linesOf(own, true));
  const heard = messages === false ? [] : [writeWords("heard", own.heard)];
  const said = messages === false ? [] : [writeWords("said", other.heard)];
  const ofOther = [writeThin(other.ice), writeEnds("from", other.start, other.ice), ...said];
  return writeObservation([...ofOther, writeEnds("at", own.at, own.ice), ...heard]);
}

/** A half whose walker the seat moves. */
function linesOf({ ice, at }: Side, showsThin: boolean): string[] {
  return [...(showsThin ? [writeThin(ice)] : []), writeEnds("at", at, ice)];
}

// Draws a lake for the terminal.

/** Both halves side by side, then what each walker was told. */
export function renderState({ red, blue }: IceState): string {
  const [left, right] = [halfLines(red), halfLines(blue)];
  const width = 2 * red.ice.size + 3;
  const rows = left.map((line, row) => `${line.padEnd(width)}   ${right[row]}`.trimEnd());
  const title = `${"   red".padEnd(width)}      blue`;
  const legend = "   ● walker   ◎ goal   ○ start   • last walk   ░░ thin ice";
  return [title, ...rows, legend, toldLine("red", red), toldLine("blue", blue)].join("\n");
}

function halfLines(side: Side): string[] {
  const { size } = side.ice;
  const letters = Array.from({ length: size }, (_, column) => String.fromCharCode(97 + column));
  const rows = letters.map((_, row) => {
    const marks = letters.map((__, column) => markOf(side, row * size + column));
    return `${String(row + 1).padStart(2)} ${marks.join("")}`;
  });
  return [`   ${letters.join(" ")}`, ...rows];
}

/** Two characters wide, so that cells look square. */
function markOf({ ice, start, at, fell, path }: Side, cell: number): string {
  if (cell === at) return fell ? "✗ " : cell === ice.goal ? "★ " : "● ";
  if (!isFree(ice, cell)) return "░░";
  if (cell === ice.goal) return "◎ ";
  if (cell === start) return "○ ";
  return path.includes(cell) ? "• " : "· ";
}

function toldLine(name: string, { heard, fell }: Side): string {
  return `   ${name} ${fell ? "fell through the ice" : `was told ${heard.join(" ") || "nothing"}`}`;
}

// What each seat is for, and the system message of a pretrained model in it.

export function seatDescriptions(options: IceOptions): Record<Seat, SeatDescription> {
  return {
    red: ofTeam(options, "red"),
    blue: ofTeam(options, "blue"),
    single: playingAlone(options, "where the ice is thin for both"),
    partial: playingAlone(options, "where the ice is thin for blue, not for red"),
  };
}

function lake({ size }: IceOptions): string {
  return (
    `Two walkers, red and blue, cross a frozen lake, each on a half of its own with ${size} rows and ${size} columns. A ` +
    `cell is a column letter and a row number: a1 is the top left cell, b1 is to the right of it, a2 is below it. Walk ` +
    `from cell to neighbouring cell and never onto thin ice: if one falls in, both have failed. Both have to reach the cell after "to".`
  );
}

function ofTeam(options: IceOptions, own: Walker): SeatDescription {
  const { sees, messages, distance } = options;
  const other = otherOf(own);
  const seen = sees === "own" ? own : other;
  const talk =
    messages === false
      ? `End with one line that has "walk" and the cells that you walk through, like this: walk b1 c1`
      : `${other} sees where it is thin for you. In every turn, tell ${other} its next cells in at most ${messages} words. ` +
        `End with one line that has "walk" and the cells that you walk through, or none, and "say" and your message, like ` +
        `this: walk b1 c1 say d2 d3`;
  return {
    purpose: `Walks on ${own}'s half and sees where the ice is thin for ${seen}.`,
    prompt: `You are ${own}. ${lake(options)} You see where the ice is thin for ${seen}. ${talk}`,
    maxTokens: 1 + longestWalk(distance) + (messages === false ? 0 : 1 + messages),
  };
}

function playingAlone(options: IceOptions, sees: string): SeatDescription {
  return {
    purpose: `Moves both walkers and sees ${sees}.`,
    prompt:
      `You move both walkers. ${lake(options)} You see ${sees}. End with one line that has the cells each of them walks ` +
      `through, like this: red b1 c1 blue a2 a3`,
    maxTokens: 2 * (1 + longestWalk(options.distance)),
    alone: "it moves both walkers",
  };
}

/** A walker that went the wrong way has to come back first. */
function longestWalk({ most }: IceOptions["distance"]): number {
  return 2 * most;
}

// Solved examples for a supervised warm start, from training tasks: a seat walks where it was told and tells the way.

/** Examples that show the same thin ice, all for one of the requested seats. */
export function demonstrate(options: IceOptions, key: Key, seats: readonly string[]): Demonstration[] {
  const generator = generatorOf(childKey(key, "lake"));
  const seat = seatOf(seats[drawInt(generator, seats.length)] ?? "");
  const shown = shownFirst(options, seat);
  const first = drawHalf(options, "train", generator);
  const more = drawStarts(options, first, generator, options.demonstrations.viewsPerHalf - 1);
  return [first, ...more].map((half) => {
    const halves = { [shown]: half, [otherOf(shown)]: drawHalf(options, "train", generator) };
    return exampleOf(options, seat, halves as Record<Walker, Half>, generator);
  });
}

/** The walker whose thin ice an observation begins with. */
function shownFirst({ sees }: IceOptions, seat: Seat): Walker {
  if (isOfTeam(seat) && sees === "own") return seat;
  return walkers.find((walker) => seesIceOf(seat, walker)) ?? "blue";
}

function exampleOf(
  options: IceOptions,
  seat: Seat,
  halves: Readonly<Record<Walker, Half>>,
  generator: Generator,
): Demonstration {
  const { messages, demonstrations } = options;
  const begun = drawFloat(generator) < demonstrations.begun;
  const speaks = isOfTeam(seat) && messages !== false;
  const crossings = {
    red: drawCrossing(halves.red, begun, speaks, generator),
    blue: drawCrossing(halves.blue, begun, speaks, generator),
  };
  const some = (cells: readonly number[]): readonly number[] =>
    brokenOff(demonstrations.breakOff, cells, generator);
  const lists = walkLabels(seat).map(([label, walker]) => [label, some(crossings[walker].walkable)] as const);
  const message = speaks ? { say: some(crossings[otherOf(seat)].untold.slice(0, messages)) } : {};
  const sides = { red: crossings.red.side, blue: crossings.blue.side };
  return {
    seat,
    observation: observationOf(options, sides, seat),
    action: writeAction(options.size, { ...Object.fromEntries(lists), ...message }),
  };
}

/** A half in mid-episode: its walker has been told part of a shortest path and has walked part of that. */
interface Crossing {
  readonly side: Side;
  /** The walker's remaining way: as far as it was told, or all of it without messages. */
  readonly walkable: readonly number[];
  readonly untold: readonly number[];
}

function drawCrossing(half: Half, begun: boolean, isTold: boolean, generator: Generator): Crossing {
  const way = randomPath(half.ice, half.start, generator);
  const last = way.length - 1;
  const told = isTold ? (begun ? drawInt(generator, last + 1) : 0) : last;
  // A walker that is across has nothing to walk; without messages such an example teaches nothing.
  const walked = begun ? drawInt(generator, isTold ? told + 1 : last) : 0;
  const names = cellNames(half.ice.size);
  const heard = isTold ? way.slice(1, told + 1).map((cell) => names[cell] ?? "") : [];
  return {
    side: { ...startSide(half), at: way[walked] ?? half.start, heard },
    walkable: way.slice(walked + 1, told + 1),
    untold: way.slice(told + 1),
  };
}

export const thinIce: GameDefinition<IceOptions> = {
  name: "thin-ice",
  summary: "Two walkers cross a lake; each sees and reports the thin ice of the other.",
  options: iceOptions,
  create: createThinIce,
};

function createThinIce(options: IceOptions): Game<IceTask, IceState> {
  const { messages } = options;
  return {
    name: thinIce.name,
    seats: seatDescriptions(options),
    words: notationWords(options.size),
    // All seats are summable: every reward is the growth of something that never shrinks. Red and blue act
    // simultaneously.
    summable: seatNames,
    taskSchema: iceTaskSchema,
    task: (split, key) => drawTask(options, split, key),
    start: startState,
    observe: (state, seat) => observationOf(options, state, seatOf(seat)),
    step: (state, actions) => stepState(messages, state, actions),
    outcome: outcomeOf,
    demonstrations: (key, seats) => demonstrate(options, key, seats),
    render: renderState,
    solve: (state, seat) => solve(messages, state, seatOf(seat)),
  };
}

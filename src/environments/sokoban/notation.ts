/**
 * The notation of rooms, proposals and plans for a model: words separated by single spaces or line breaks, so that a
 * word-level tokenizer gives one token for each. All wording is in this file.
 */
import { cellNames, cellsByName, moveWords, neighbourTable } from "../grid/cells.ts";
import { readLastLine, type ReadList } from "../planning/last-line.ts";
import { isWall, type Push, type Room, type RoomPosition, type Step } from "./room.ts";

/** `list`: inner walls, goals, boxes and player by name; `grid`: rows of "#", "-" floor, "." goal, "$" box, "@" player. */
export const roomNotations = ["list", "grid"] as const;
export type RoomNotation = (typeof roomNotations)[number];

/** `moves`: "right down"; `steps`: also the player's cells, and after a push the box's: "c4 right d4 down d5 d6". */
export const planNotations = ["moves", "steps"] as const;
export type PlanNotation = (typeof planNotations)[number];

export interface Notation {
  readonly notation: RoomNotation;
  readonly plan: PlanNotation;
}

/** The last word of an observation names what to write: roles that share a policy can tell which one they are. */
const cues = { proposer: "pushes", planner: "plan" } as const;

/** What an observation contains, besides the word for its seat. */
export interface Scene extends RoomPosition {
  readonly room: Room;
  /** The cell that could not be entered when the last plan ended; null: none. */
  readonly bumped: number | null;
  /** The proposer's pushes in this turn; null: no proposer has acted. */
  readonly proposal: readonly Push[] | null;
}

export function writeObservation({ notation }: Notation, seat: "proposer" | "planner", scene: Scene): string {
  const { room, bumped, proposal } = scene;
  const lines = notation === "list" ? listLines(scene) : gridLines(scene);
  if (bumped !== null) lines.push(`bumped ${cellNames(room.size)[bumped]}`);
  if (seat === "planner" && proposal !== null)
    lines.push(`proposer ${writeProposal(room.size, proposal) || "none"}`);
  return [...lines, cues[seat]].join("\n");
}

/** Alternating the cell of a box and the direction of its push: "c4 right d4 right e4 down e5". */
export function writeProposal(size: number, pushes: readonly Push[]): string {
  const names = cellNames(size);
  const words: string[] = [];
  let reached = -1;
  for (const { box, move } of pushes) {
    if (reached !== box && reached >= 0) words.push(names[reached] ?? "");
    words.push(names[box] ?? "", moveWords[move] ?? "");
    reached = neighbourTable(size)[4 * box + move] ?? -1;
  }
  if (reached >= 0) words.push(names[reached] ?? "");
  return words.join(" ");
}

export function writePlan({ plan }: Notation, size: number, from: number, steps: readonly Step[]): string {
  const words = steps.map(({ move }) => moveWords[move] ?? "");
  if (plan === "moves" || steps.length === 0) return words.join(" ");
  const names = cellNames(size);
  const tracked = steps.flatMap(({ at, pushedTo }, index) => [
    words[index],
    names[at],
    ...(pushedTo === null ? [] : [names[pushedTo]]),
  ]);
  return [names[from], ...tracked].join(" ");
}

/** All words that can occur, in a fixed order. */
export function notationWords({ notation }: Notation, size: number): string[] {
  const marks = notation === "list" ? ["walls", "goal", "box"] : ["#", "-", ".", "$", "*", "+", "@"];
  return [
    ...marks,
    "at",
    "bumped",
    "proposer",
    "none",
    ...Object.values(cues),
    ...moveWords,
    ...cellNames(size),
  ];
}

function listLines({ room, at, boxes }: Scene): string[] {
  const names = cellNames(room.size);
  const named = (cells: readonly number[]): string => cells.map((cell) => names[cell]).join(" ");
  return [roomText(room), `box ${named(boxes)}`, `at ${names[at]}`];
}

/** Every observation of an episode repeats the room's text, so it is cached per room object. */
function roomText(room: Room): string {
  const known = roomTexts.get(room);
  if (known !== undefined) return known;
  const names = cellNames(room.size);
  const inner = names.filter((_, cell) => isWall(room, cell) && isInner(cell, room.size));
  const goals = room.goals.map((goal) => names[goal]);
  const text = `${["walls", ...inner].join(" ")}\n${["goal", ...goals].join(" ")}`;
  roomTexts.set(room, text);
  return text;
}

const roomTexts = new WeakMap<Room, string>();

function isInner(cell: number, size: number): boolean {
  const edges = [0, size - 1];
  return !edges.includes(Math.floor(cell / size)) && !edges.includes(cell % size);
}

function gridLines({ room, at, boxes }: Scene): string[] {
  const rows = roomRows(room, { at, boxes }).map((row) => Array.from(row).join(" "));
  return [...rows, `at ${cellNames(room.size)[at]}`];
}

/** One mark for each cell: "#" wall, "-" floor, "." goal, "$" box, "*" box on a goal, "@" player, "+" player on a goal. */
export function roomRows(room: Room, { at, boxes }: RoomPosition): string[] {
  const mark = (cell: number): string => {
    const goal = room.goals.includes(cell);
    if (isWall(room, cell)) return "#";
    if (boxes.includes(cell)) return goal ? "*" : "$";
    if (cell === at) return goal ? "+" : "@";
    return goal ? "." : "-";
  };
  const row = (index: number): string =>
    Array.from({ length: room.size }, (_, column) => mark(index * room.size + column)).join("");
  return Array.from({ length: room.size }, (_, index) => row(index));
}

// Reads the pushes that a proposer wrote. Never throws, and reads a bounded part of a text.

const push = /\b([a-z][1-9]\d?)[\s,;]+(up|down|left|right)\b/gi;
/** Cells and directions in any number, each direction after a cell. */
const onlyPushes = /^\s*(?:[a-z][1-9]\d?[\s,;]+(?:(?:up|down|left|right)[\s,;]+)?)*$/i;

/** A box outside the room is -1. */
export function readPushes(text: string, size: number): ReadList<Push> {
  const cells = cellsByName(size);
  return readLastLine(text, {
    item: push,
    only: onlyPushes,
    read: ([, cell = "", word = ""]) => ({
      box: cells.get(cell.toLowerCase()) ?? -1,
      move: moveWords.indexOf(word.toLowerCase() as "up"),
    }),
  });
}

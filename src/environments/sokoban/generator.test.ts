import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, generatorOf, rootKey } from "../../random.ts";
import type { GameSplit } from "../tasks.ts";
import { drawStarts, drawTask, longestSolution, mostBoxes, splitOf } from "./generator.ts";
import { isWall, mostPositions, movesLeft, type Room } from "./room.ts";
import { anyTask, sokobanEnvironment, taskOf } from "./test-rooms.ts";

it.each([5, 6, 7, 8, 9, 14, 15, 16])(
  "rooms of size %i with as many boxes as allowed can be drawn in both splits, and solved exactly",
  (size) => {
    const boxes = mostBoxes(size);
    expect((size - 2) ** (2 * (boxes + 1))).toBeLessThanOrEqual(mostPositions);
    const environment = sokobanEnvironment({ size, boxes });
    for (const split of ["train", "heldOut"] as const) {
      expect(environment.task(split, rootKey(1)).boxes).toHaveLength(boxes);
    }
  },
);

const paper = { size: 6, boxes: 1 };
const many = Array.from({ length: 500 }, (_, index) => drawTask(paper, "train", childKey(rootKey(5), index)));
const anySplit = fc.constantFrom<GameSplit>("train", "heldOut");
const anyOptions = fc.record({ size: fc.integer({ min: 6, max: 8 }), boxes: fc.integer({ min: 1, max: 2 }) });

describe("a task", () => {
  it("has a solution that fits; walls all around; no box near a goal; no key gives another split's room", () => {
    fc.assert(
      fc.property(anyOptions, anySplit, fc.nat(), (options, split, seed) => {
        const { room, at, boxes } = drawTask(options, split, rootKey(seed));
        const { size, walls, goals } = room;
        expect(walls).toMatch(/^[.#]+$/);
        const lines = [0, size - 1];
        const edges = Array.from(walls, (_, cell) => cell).filter(
          (cell) => lines.includes(Math.floor(cell / size)) || lines.includes(cell % size),
        );
        expect(edges.every((cell) => isWall(room, cell))).toBe(true);
        expect(new Set([at, ...boxes]).size).toBe(options.boxes + 1);
        expect([goals.length, boxes.length]).toEqual([options.boxes, options.boxes]);
        expect([at, ...boxes, ...goals].every((cell) => !isWall(room, cell))).toBe(true);
        expect(boxes.every((box) => goals.every((goal) => crow(size, box, goal) >= 2))).toBe(true);
        expect(movesLeft(room, at, boxes)).toBeGreaterThan(0);
        expect(movesLeft(room, at, boxes)).toBeLessThanOrEqual(longestSolution(size));
        expect(splitOf(room)).toBe(split);
      }),
      { numRuns: 60 },
    );
  });

  it("has a connected floor", () => {
    fc.assert(
      fc.property(anyTask, ({ room, at }) => {
        const seen = new Set([at]);
        for (const cell of seen) {
          for (const next of [cell - room.size, cell + room.size, cell - 1, cell + 1]) {
            if (!isWall(room, next)) seen.add(next);
          }
        }
        expect(seen.size).toBe(room.walls.replaceAll("#", "").length);
      }),
    );
  });

  it("is about as long as in the paper", () => {
    const lengths = many.map(({ room, at, boxes }) => movesLeft(room, at, boxes));
    const mean = lengths.reduce((sum, length) => sum + length, 0) / many.length;
    // 200 rooms made by its code have a mean of 5.1 moves, 2 to 14; the standard error here is .12.
    expect(mean).toBeGreaterThan(5);
    expect(mean).toBeLessThan(7);
  });

  it("is rejected if boxes leave no room", () => {
    expect(() => drawTask({ size: 5, boxes: 2 }, "train", rootKey(1))).toThrow(
      expect.objectContaining({
        name: "TroupeError",
        message: expect.stringMatching(/use a larger size or fewer boxes/) as string,
      }),
    );
  });
});

describe("a split", () => {
  it("is the same for a room rotated, reflected or shifted", () => {
    fc.assert(
      fc.property(anyTask, fc.nat(7), fc.nat(2), fc.nat(2), ({ room }, symmetry, down, along) => {
        expect(splitOf(shifted(turned(room, symmetry), down, along))).toBe(splitOf(room));
      }),
      { numRuns: 100 },
    );
  });

  it("holds out 3 of 16 rooms, and depends on the goals", () => {
    const rooms = many.map(({ room }) => ({ ...room, goals: [room.walls.lastIndexOf(".")] }));
    const heldOut = rooms.filter((room) => splitOf(room) === "heldOut").length;
    // About 350 different rooms, standard error .02; some of these rooms also occur with other goals in training.
    expect(heldOut / rooms.length).toBeGreaterThan(0.1);
    expect(heldOut / rooms.length).toBeLessThan(0.25);
  });
});

describe("starts in the same room", () => {
  it("are solvable and not solved", () => {
    const { room } = taskOf("###### #----# #-.--# #----# #---.# ######");
    const starts = drawStarts(room, generatorOf(rootKey(3)), 30);
    expect(starts).toHaveLength(30);
    expect(starts.every(({ at, boxes }) => movesLeft(room, at, boxes) > 0)).toBe(true);
    expect(new Set(starts.map(({ at, boxes }) => JSON.stringify([at, boxes]))).size).toBeGreaterThan(20);
  });

  it("do not exist if no box can be pulled", () => {
    const { room } = taskOf("##### ##.## ##@## ##### #####");
    expect(drawStarts(room, generatorOf(rootKey(3)), 4)).toEqual([]);
  });
});

function crow(size: number, one: number, other: number): number {
  const rows = Math.abs(Math.floor(one / size) - Math.floor(other / size));
  return rows + Math.abs((one % size) - (other % size));
}

function turned(room: Room, symmetry: number): Room {
  const last = room.size - 1;
  return mapped(room, room.size, (row, column) => {
    const down = (symmetry & 1) === 0 ? row : last - row;
    const along = (symmetry & 2) === 0 ? column : last - column;
    return (symmetry & 4) === 0 ? [down, along] : [along, down];
  });
}

/** Within a larger room, so that shifting loses no cell. */
function shifted(room: Room, down: number, along: number): Room {
  return mapped(room, room.size + 2, (row, column) => [row + down, column + along]);
}

function mapped(room: Room, size: number, to: (row: number, column: number) => [number, number]): Room {
  const walls = Array.from({ length: size * size }, () => "#");
  const moved = (cell: number): number => {
    const [row, column] = to(Math.floor(cell / room.size), cell % room.size);
    return row * size + column;
  };
  for (let cell = 0; cell < room.walls.length; cell++) if (!isWall(room, cell)) walls[moved(cell)] = ".";
  return { size, walls: walls.join(""), goals: room.goals.map(moved).toSorted((a, b) => a - b) };
}

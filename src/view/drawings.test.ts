import { expect, it } from "vitest";
import { games } from "../environments/registry.ts";
import { keyAt, rootKey } from "../random.ts";
import { drawingOf } from "./drawings.ts";

/** What a picture of the game must show at least: classes of its marks. */
const marks: Readonly<Record<string, readonly string[]>> = {
  "plan-path": ["cell-wall", "dot", "ring", "trail"],
  sokoban: ["cell-wall", "crate", "dot", "ring", "trail"],
  "thin-ice": ["cell-wall", "dot", "ring", "trail"],
  sudoku: ["grid is-thick", "mark"],
  blocksworld: ["crate", "grid is-thick", "mark"],
  "eight-queens": ["cell-free", "mark"],
};

it.each(Object.keys(marks))("draws every state of %s that its solver meets", (name) => {
  const definition = games.find((one) => one.name === name);
  const game = definition?.create(definition.options.parse({}));
  if (game === undefined) throw new Error(`there is no game ${name}`);
  for (let index = 0; index < 5; index++) {
    let state = game.start(game.task("train", keyAt(rootKey(0), "drawn", index)));
    const pictures = [drawingOf(name, state)];
    let isDone = false;
    for (let turn = 0; turn < 20 && !isDone; turn++) {
      for (const seat of Object.keys(game.seats)) {
        const after = game.step(state, { [seat]: game.solve(state, seat) });
        state = JSON.parse(JSON.stringify(after.state)) as typeof state;
        pictures.push(drawingOf(name, state));
        isDone = after.done;
        if (isDone) break;
      }
      if (!isDone) state = game.endTurn?.(state) ?? state;
    }
    expect(isDone).toBe(true);
    // What was played can be seen: a picture that stays the same would show another field's value.
    expect(new Set(pictures).size).toBeGreaterThan(1);
    const last = pictures.at(-1) ?? "";
    expect(marks[name]?.filter((mark) => !last.includes(mark))).toEqual([]);
    for (const picture of pictures) expect(picture).not.toMatch(/undefined|NaN/);
  }
});

it("draws no state of another game, and no other value", () => {
  expect(drawingOf("sudoku", { grid: 3 })).toBeUndefined();
  expect(drawingOf("constructor", {})).toBeUndefined();
  expect(drawingOf(undefined, null)).toBeUndefined();
});

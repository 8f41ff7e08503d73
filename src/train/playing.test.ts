import { expect, it } from "vitest";
import { numbers } from "../rollout/testing/numbers.ts";
import { checkContinuable } from "./playing.ts";

const failing = "train/1/0 cannot be continued";

it("says why recorded episodes cannot be continued", () => {
  const judge = { name: "coach", comments: true };
  const driven = { name: "numbers", drive: () => Promise.reject(new Error("never asked")) };
  expect(() => checkContinuable(numbers, {}, failing)).not.toThrow();
  expect(() => checkContinuable(numbers, { judge: { ...judge, comments: false } }, failing)).not.toThrow();
  expect(() => checkContinuable(numbers, { judge }, failing)).toThrow(
    /^train\/1\/0 cannot .*`judge\.comments`/,
  );
  expect(() => checkContinuable(driven, {}, failing)).toThrow(
    /^train\/1\/0 cannot .* a program drives itself/,
  );
});

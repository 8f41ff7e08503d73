import { expect, it } from "vitest";
import { labelsOf } from "./labels.ts";

it.each([
  [
    ["runs/one", "runs/two"],
    ["one", "two"],
  ],
  [
    ["first/runs/one", "second/runs/one", "runs/two"],
    ["first/runs/one", "second/runs/one", "two"],
  ],
  [
    ["/a/one", "/b/one", "/c/two/one"],
    ["a/one", "b/one", "two/one"],
  ],
  [
    ["/one", "/a/one"],
    ["/one", "a/one"],
  ],
  [
    ["runs/one", "./runs/one"],
    ["one", "one"],
  ],
])("%j are called %j", (directories, labels) => {
  expect(labelsOf(directories)).toEqual(labels);
});

/** Every row against numbers of an independent implementation: tests/fixtures/credit/make.py. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Action } from "../rollout/episode.ts";
import type { Signals } from "./algorithm.ts";
import { algorithmFrom, algorithms } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { placedActions } from "./placed-actions.ts";
import { distance, episodeFrom, type TreeSketch } from "./testing.ts";

interface Case {
  readonly algorithm: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly episodes: readonly TreeSketch[];
  readonly expected: readonly {
    readonly episode: number;
    readonly node: string;
    readonly role: string;
    readonly advantages: readonly number[];
    readonly targets?: readonly number[];
  }[];
}

const file = new URL("../../tests/fixtures/credit/cases.json", import.meta.url);
const cases = JSON.parse(readFileSync(file, "utf8")) as readonly Case[];

/** Log-probabilities and values pass through float32 here, in the reference they do not; some advantages are divided by 1e-6. */
const tolerance = 5e-6;

describe("the reference", () => {
  it("covers every row", () => {
    expect(new Set(cases.map(({ algorithm }) => algorithm))).toEqual(new Set(Object.keys(algorithms)));
  });
});

describe.each(
  cases.map((one, index) => [`${index} ${one.algorithm} ${JSON.stringify(one.options)}`, one] as const),
)("case %s", (_, { algorithm, options, episodes, expected }) => {
  const sketched = episodes.map((sketch, task) => episodeFrom(task, sketch));
  const row = algorithmFrom(algorithm, options);
  // As in the loop: measured once per completion, for the action that stands for it.
  const measured = new Set(
    sketched.flatMap(({ episode }) => placedActions(episode)).map(({ action }) => action),
  );
  const given = (action: Action, of: "references" | "values"): Float32Array | undefined =>
    sketched
      .map((one) => one[of].get(action))
      .filter((numbers) => numbers !== undefined && measured.has(action))
      .map((numbers) => Float32Array.from(numbers ?? []))[0];
  const signals: Signals = {
    reference: (action) => given(action, "references"),
    values: (action) => given(action, "values"),
  };
  const credited = credit(
    sketched.map(({ episode }) => episode),
    row,
    signals,
  );
  const live = credited.filter(({ action }) => !action.frozen);

  it("credits every completion of a trained role once, and frozen ones with nothing", () => {
    const places = live.map(({ episode, node, action }) => [episode.path[2], node.id, action.role].join(" "));
    const wanted = expected.map(({ episode, node, role }) => [episode, node, role].join(" "));
    expect(places.toSorted()).toEqual(wanted.toSorted());
    const frozen = credited.filter(({ action }) => action.frozen);
    expect(frozen.flatMap(({ advantages }) => [...advantages]).every((value) => value === 0)).toBe(true);
  });

  it("gives the reference's advantages and targets", () => {
    for (const { episode, node, role, advantages, targets } of expected) {
      const found = live.find(
        (one) => one.episode.path[2] === episode && one.node.id === node && one.action.role === role,
      );
      expect(distance(found?.advantages, advantages)).toBeLessThan(tolerance);
      expect(distance(found?.valueTargets ?? [], targets ?? [])).toBeLessThan(tolerance);
    }
  });
});

/** Every row compared with an independent implementation: tests/fixtures/credit/make.py. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Action } from "../rollout/episode.ts";
import type { Signals } from "./algorithm.ts";
import { algorithmFrom, algorithms } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { toData } from "./data.ts";
import { placedActions } from "./places.ts";
import { distance, episodeFrom, type TreeSketch } from "./testing.ts";

interface Case {
  readonly algorithm: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly episodes: readonly TreeSketch[];
  readonly expected: readonly Expected[];
}

interface Expected {
  readonly episode: number;
  readonly node: string;
  readonly role: string;
  readonly advantages: readonly number[];
  readonly targets?: readonly number[];
  /** Advantages as in the loss, divided; null: not in the data, because truncated actions are masked. */
  readonly loss?: readonly number[] | null;
}

const file = new URL("../../tests/fixtures/credit/cases.json", import.meta.url);
const cases = JSON.parse(readFileSync(file, "utf8")) as readonly Case[];

/**
 * Here log-probabilities and values pass through float32, in the reference they do not; some advantages are divided by
 * 1e-6.
 */
const tolerance = 5e-6;

describe("the reference", () => {
  it("covers every row", () => {
    expect(new Set(cases.map(({ algorithm }) => algorithm))).toEqual(new Set(Object.keys(algorithms)));
  });
});

/** The case as credited by Troupe. */
function creditedCase({ algorithm: name, options, episodes }: Case) {
  const sketched = episodes.map((sketch, task) => episodeFrom(task, sketch));
  const algorithm = algorithmFrom(name, options);
  // As in the loop: measured once per completion.
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
    algorithm,
    signals,
  );
  const live = credited.filter(({ action }) => !action.frozen);
  const place = ({ episode, node, role }: Expected) =>
    live.find((one) => one.episode.path[2] === episode && one.node.id === node && one.action.role === role);
  return { algorithm, signals, credited, live, place };
}

const named = (chosen: readonly Case[]) =>
  chosen.map((one) => [cases.indexOf(one), one.algorithm, JSON.stringify(one.options), one] as const);

describe.each(named(cases))("case %i %s %s", (_index, _algorithm, _options, one) => {
  const { credited, live, place } = creditedCase(one);

  it("credits every completion of a trained role once, and frozen ones with 0", () => {
    const places = live.map(({ episode, node, action }) => [episode.path[2], node.id, action.role].join(" "));
    const wanted = one.expected.map(({ episode, node, role }) => [episode, node, role].join(" "));
    expect(places.toSorted()).toEqual(wanted.toSorted());
    const frozen = credited.filter(({ action }) => action.frozen);
    expect(frozen.flatMap(({ advantages }) => [...advantages]).every((value) => value === 0)).toBe(true);
  });

  it("gives the reference's advantages and targets", () => {
    for (const wanted of one.expected) {
      const found = place(wanted);
      expect(distance(found?.advantages, wanted.advantages)).toBeLessThan(tolerance);
      expect(distance(found?.valueTargets ?? [], wanted.targets ?? [])).toBeLessThan(tolerance);
    }
  });
});

const masking = cases.filter(({ options }) => options["truncated"] === "mask");

it.each(named(masking))(
  "case %i %s %s trains what the reference trains, with its divisor",
  (_index, _algorithm, _options, one) => {
    const { algorithm, signals, credited, place } = creditedCase(one);
    const continuations = toData(credited, algorithm, signals).flatMap((datum) => datum.continuations);
    const trained = one.expected.filter(({ loss }) => loss?.some((value) => value !== 0));
    expect(one.expected.some(({ loss }) => loss === null)).toBe(true);
    expect(continuations).toHaveLength(trained.length);
    for (const wanted of trained) {
      const tokens = place(wanted)?.action.tokens;
      const found = continuations.find((continued) => continued.tokens === tokens);
      expect(distance(found?.advantages, wanted.loss ?? [])).toBeLessThan(tolerance);
    }
  },
);

import { describe, expect, it } from "vitest";
import { judgeEpisode } from "../judges/judge-episode.ts";
import type { Judge } from "../judges/judge.ts";
import { judgeBy, silent, talk } from "../judges/testing/talk.ts";
import type { Action, Episode, Verdict } from "../rollout/episode.ts";
import { numbers } from "../rollout/testing/numbers.ts";
import { calibrationOf, passAt } from "./scores.ts";
import { assert, integer, property } from "fast-check";
import { mean } from "../statistics.ts";

const by = (verdict: (action: Action) => Verdict): Judge => judgeBy(({ action }) => verdict(action));
const judged = (episode: Episode, judge: Judge) => judgeEpisode(episode, judge, { fills: "all", as: "team" });
const branch = { branch: { root: 3, inner: 1 }, keep: "all" } as const;

/** Each trajectory's first number decides its outcome: the rest is 0. */
const starts = (...said: readonly string[]) =>
  talk({
    environment: numbers,
    scheme: branch,
    script: (_, index, prompt) => (/\d|x/.test(prompt) ? "0" : (said[index] ?? "")),
  });

describe("the rank correlation of scores and outcomes", () => {
  it("counts every judged action with the outcome it led to, also by role", async () => {
    // Outcomes 1, 2 and 4 of 36. first: scores .1, .2, 0 and three times 0; second: always 0.
    const judge = by(({ reply: { text } }) => ({ score: text === "4" ? 0 : Number(text) / 10 }));
    const found = calibrationOf([await judged(await starts("1", "2", "4"), judge)]);
    // first: pairs (.1, 1) (.2, 2) (0, 4) (0, 1) (0, 2) (0, 4). Of 15 pairs 6 have equal scores and 3 equal outcomes; of
    // those with neither, (.1, 1)–(.2, 2), (0, 1)–(.2, 2) agree, (.1, 1)–(0, 4) twice, (.1, 1)–(0, 2),
    // (.2, 2)–(0, 4) twice disagree.
    expect(found?.roles["first"]).toBeCloseTo((2 - 5) / Math.sqrt(9 * 12), 15);
    expect(found?.roles["second"]).toBeNull();
    expect(found?.correlation).toBeLessThan(0);
    expect(found).not.toHaveProperty("blame");
  });

  it("leaves out verdicts that failed, and is nothing without scores", async () => {
    const episode = await starts("1", "2", "4");
    const failing = by(() => ({ failure: "no idea" }));
    expect(calibrationOf([await judged(episode, failing)])).toBeNull();
    expect(calibrationOf([episode])).toBeNull();
  });
});

async function blameOf(episode: Episode, blame: string | null) {
  const blaming = by(() => ({ score: 0, blame }));
  return calibrationOf([await judged(episode, blaming)])?.blame;
}

describe("blame", () => {
  it("is right if it names the role of the first action with which the environment finds something wrong", async () => {
    // Of three trajectories the first fails because of `first`, the second ends in success, the third fails, but every
    // action is legal.
    const episode = await starts("x", "9", "3");
    expect(await blameOf(episode, "first")).toEqual({ named: 4, correct: 4 });
    expect(await blameOf(episode, "second")).toEqual({ named: 4, correct: 0 });
    expect(await blameOf(episode, null)).toBeUndefined();
  });

  it("passes over a mistake that its role repaired", async () => {
    // first, second, first, second: the first role's mistake is followed by a legal action, the second's is not.
    const said = ["say", "3", "4", "say"];
    let actions = 0;
    const repaired = await talk({
      environment: numbers,
      scheme: { branch: { root: 1, inner: 1 }, keep: "first" },
      script: () => said[actions++] ?? "",
    });
    expect(repaired.actions.map(({ reply }) => reply.text)).toEqual(said);
    expect(await blameOf(repaired, "second")).toEqual({ named: 4, correct: 4 });
    expect(await blameOf(repaired, "first")).toEqual({ named: 4, correct: 0 });
  });

  it("is not counted if an earlier action has no reward of the environment: it may be the cause", async () => {
    const said = { scheme: branch, script: () => "x" } as const;
    const known = await talk({ environment: silent(["first"]), ...said });
    expect(await blameOf(known, "first")).toEqual({ named: 12, correct: 12 });
    const unknown = await talk({ environment: silent(["second"]), ...said });
    expect(await blameOf(unknown, "second")).toBeUndefined();
  });
});

/** Whether at least one of the chosen samples succeeded, over all choices of k of n samples of which c succeeded. */
function bruteForce(k: number, n: number, c: number): number {
  const results: number[] = [];
  for (let chosen = 0; chosen < 2 ** n; chosen++) {
    const members = Array.from({ length: n }, (_, index) => index).filter((index) => (chosen >> index) & 1);
    if (members.length === k) results.push(members.some((index) => index < c) ? 1 : 0);
  }
  return mean(results);
}

describe("pass@k", () => {
  it.each([
    [1, 10, 3, 0.3],
    [5, 10, 3, 1 - 21 / 252], // C(7, 5) / C(10, 5)
    [10, 10, 1, 1],
    [10, 10, 0, 0],
    [2, 4, 2, 1 - 1 / 6],
  ])("of %i from %i samples with %i successes is %f", (k, n, c, expected) => {
    expect(passAt(k, n, c)).toBeCloseTo(expected, 12);
  });

  it("is the mean over all choices of k samples", () => {
    const cases = integer({ min: 1, max: 9 }).chain((n) =>
      integer({ min: 1, max: n }).chain((k) => integer({ min: 0, max: n }).map((c) => ({ k, n, c }))),
    );
    assert(
      property(cases, ({ k, n, c }) => {
        expect(passAt(k, n, c)).toBeCloseTo(bruteForce(k, n, c), 10);
      }),
    );
  });

  it("is not 1 as soon as k samples succeed, as in MAGRPO's code", () => {
    const [k, n, c] = [5, 10, 5];
    expect(c >= k).toBe(true);
    expect(passAt(k, n, c)).toBeCloseTo(1 - 1 / 252, 12);
    expect(passAt(1, 10, 1)).toBeCloseTo(0.1, 12);
  });

  it("stays a number where binomial coefficients would not", () => {
    expect(passAt(1000, 5000, 1)).toBeCloseTo(0.2, 9);
    expect(passAt(100, 2000, 3)).toBeCloseTo(1 - (1900 * 1899 * 1898) / (2000 * 1999 * 1998), 9);
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KlTerm } from "./algorithm.ts";
import { adaptKl, klCharges, klEstimate } from "./kl.ts";
import { action } from "./testing.ts";

const term: KlTerm = { where: "reward", estimator: "k1", coefficient: 0.1, target: null, horizon: 10_000 };

describe("estimates of KL from one token", () => {
  it("are d, d²/2 and e^−d − 1 + d", () => {
    expect(klEstimate("k1", -1, -1.5)).toBe(0.5);
    expect(klEstimate("k2", -1, -1.5)).toBe(0.125);
    expect(klEstimate("k3", -1, -1.5)).toBeCloseTo(Math.exp(-0.5) - 0.5, 15);
    expect(klEstimate("k3", -1.5, -1)).toBeCloseTo(Math.exp(0.5) - 1.5, 15);
  });

  it("clamp d to ±10 in k3 only", () => {
    expect(klEstimate("k3", -30, 0)).toBe(Math.exp(10) - 11);
    expect(klEstimate("k3", 30, 0)).toBe(Math.exp(-10) + 9);
    expect(klEstimate("k1", -30, 0)).toBe(-30);
    expect(klEstimate("k2", -30, 0)).toBe(450);
  });

  it("k2 and k3 are never negative, and all are 0 if the policies agree", () => {
    const logprob = fc.double({ min: -20, max: 0, noNaN: true });
    fc.assert(
      fc.property(logprob, logprob, (now, reference) => {
        expect(klEstimate("k2", now, reference)).toBeGreaterThanOrEqual(0);
        expect(klEstimate("k3", now, reference)).toBeGreaterThanOrEqual(-1e-15);
        for (const kind of ["k1", "k2", "k3"] as const) expect(klEstimate(kind, now, now)).toBe(0);
      }),
    );
  });
});

const reference = () => Float32Array.of(-1.5, -1);

describe("KL charged to the reward", () => {
  const one = action({ logprobs: Float32Array.of(-1, -2) });

  it("is β times each token's estimate, with the loop's β if there is one", () => {
    expect([...klCharges(one, term, { reference })]).toEqual([0.1 * 0.5, 0.1 * -1]);
    expect([...klCharges(one, term, { reference, klCoefficient: () => 2 })]).toEqual([1, -2]);
  });

  it("is empty for an action without tokens", () => {
    const empty = action({ tokens: new Int32Array(), logprobs: new Float32Array() });
    expect([...klCharges(empty, term, {})]).toEqual([]);
  });

  it("needs the reference's log-probabilities", () => {
    expect(() => klCharges(one, term, {})).toThrowError(/role solver/);
  });
});

describe("adaptKl", () => {
  const adaptive = { ...term, target: 0.02 };

  it("moves β by a fifth at most over the horizon, towards the target", () => {
    expect(adaptKl(0.1, 0.022, adaptive, 1000)).toBeCloseTo(0.1 * (1 + (0.1 * 1000) / 10_000), 15);
    expect(adaptKl(0.1, 1, adaptive, 1000)).toBeCloseTo(0.1 * 1.02, 15);
    expect(adaptKl(0.1, 0, adaptive, 1000)).toBeCloseTo(0.1 * 0.98, 15);
    expect(adaptKl(0.1, -5, adaptive, 1_000_000)).toBeCloseTo(0.08, 15);
  });

  it("keeps β without a target, on the target, and if nothing was measured", () => {
    expect(adaptKl(0.1, 5, term, 1000)).toBe(0.1);
    expect(adaptKl(0.1, 0.02, adaptive, 1000)).toBe(0.1);
    expect(adaptKl(0.1, Number.NaN, adaptive, 1000)).toBe(0.1);
  });
});

import { describe, expect, it } from "vitest";
import { guessNumber } from "./guess-number.ts";

describe("guess-number", () => {
  it("is won in 6 turns by halving, if the referee tells the truth", () => {
    const environment = guessNumber.create({});
    for (let secret = 1; secret <= 32; secret++) {
      let state = environment.start({ secret });
      for (let turn = 0; turn < 6 && !environment.outcome(state).success; turn++) {
        const [, low = "", , high = ""] = environment.observe(state, "guesser").split(" ");
        const middle = Math.floor((Number(low) + Number(high)) / 2);
        state = environment.step(state, { guesser: String(middle) }).state;
        if (environment.outcome(state).success) break;
        state = environment.step(state, { referee: environment.solve(state, "referee") }).state;
      }
      expect(environment.outcome(state)).toEqual({ success: true, score: 1 });
    }
  });
});

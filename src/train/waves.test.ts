import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { PlayedSoFar, WavePlan } from "./waves.ts";
import { nextWave } from "./waves.ts";

const nothing: PlayedSoFar = { waves: 0, tasks: 0, kept: 0, tokens: 0 };

/** Plays tasks of the given numbers of tokens, in turn, every `keep`-th of them worth keeping. */
function play(plan: WavePlan, tokens: readonly number[], keep = 1): { played: PlayedSoFar; waves: number[] } {
  let played = nothing;
  const waves: number[] = [];
  for (let size = nextWave(plan, played); size > 0; size = nextWave(plan, played)) {
    waves.push(size);
    for (let task = played.tasks; task < waves.reduce((sum, wave) => sum + wave, 0); task++) {
      played = {
        waves: waves.length,
        tasks: played.tasks + 1,
        kept: played.kept + (task % keep === 0 ? 1 : 0),
        tokens: played.tokens + (tokens[task % tokens.length] ?? 0),
      };
    }
  }
  return { played, waves };
}

test("without a number of tokens and without dropping, a step is one wave", () => {
  expect(play({ tasksPerStep: 5, refills: 0 }, [10]).waves).toEqual([5]);
  expect(play({ tasksPerStep: 5, refills: 3 }, [10]).waves).toEqual([5]);
});

test("dropped tasks are replaced, as often as allowed", () => {
  // Tasks 0, 3, 6, 9 are kept, and each wave has as many as are missing.
  const whole = { waves: [4, 2, 2, 1, 1], played: { kept: 4 } };
  expect(play({ tasksPerStep: 4, refills: 5 }, [1], 3)).toMatchObject(whole);
  expect(play({ tasksPerStep: 4, refills: 1 }, [1], 3).waves).toEqual([4, 2]);
});

test("later waves are sized by the tokens per task so far", () => {
  // 3 tasks of 10 tokens; 70 missing are 7 tasks.
  expect(play({ tasksPerStep: 3, tokens: 100, refills: 0 }, [10])).toMatchObject({
    waves: [3, 7],
    played: { tokens: 100 },
  });
  // One wave holds enough.
  expect(play({ tasksPerStep: 12, tokens: 100, refills: 0 }, [10]).waves).toEqual([12]);
});

test("a step ends with the tokens asked for, and waves grow no faster than is sound", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 30 });
  const counts = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20_000 }));
  fc.assert(
    fc.property(lengths, counts, ([...lengthsOf], [tasksPerStep, wanted]) => {
      const { played, waves } = play({ tasksPerStep, tokens: wanted, refills: 0 }, lengthsOf);
      expect(played.tokens).toBeGreaterThanOrEqual(wanted);
      // A wave never more than quadruples what was played, whatever the first tasks looked like.
      expect(played.tasks).toBeLessThanOrEqual(
        Math.max(tasksPerStep, 5 * (played.tasks - (waves.at(-1) ?? 0))),
      );
    }),
  );
});

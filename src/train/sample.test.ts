import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { WaveProgress, WavePlan } from "./sample.ts";
import { nextWave } from "./sample.ts";

const nothing: WaveProgress = { waves: 0, tasks: 0, kept: 0, tokens: 0 };

/** Plays tasks of the given numbers of tokens, cyclically; every `keep`-th task is kept. */
function play(
  plan: WavePlan,
  tokens: readonly number[],
  keep = 1,
): { progress: WaveProgress; waves: number[] } {
  let progress = nothing;
  const waves: number[] = [];
  for (let size = nextWave(plan, progress); size > 0; size = nextWave(plan, progress)) {
    waves.push(size);
    for (let task = progress.tasks; task < waves.reduce((sum, wave) => sum + wave, 0); task++) {
      progress = {
        waves: waves.length,
        tasks: progress.tasks + 1,
        kept: progress.kept + (task % keep === 0 ? 1 : 0),
        tokens: progress.tokens + (tokens[task % tokens.length] ?? 0),
      };
    }
  }
  return { progress, waves };
}

test("without a number of tokens and without dropping, a step is one wave", () => {
  expect(play({ tasksPerStep: 5, refills: 0 }, [10]).waves).toEqual([5]);
  expect(play({ tasksPerStep: 5, refills: 3 }, [10]).waves).toEqual([5]);
});

test("dropped tasks are replaced, as often as allowed", () => {
  // Tasks 0, 3, 6, 9 are kept, and each wave has as many as are missing.
  const whole = { waves: [4, 2, 2, 1, 1], progress: { kept: 4 } };
  expect(play({ tasksPerStep: 4, refills: 5 }, [1], 3)).toMatchObject(whole);
  expect(play({ tasksPerStep: 4, refills: 1 }, [1], 3).waves).toEqual([4, 2]);
});

test("later waves are sized by the tokens per task so far", () => {
  // 3 tasks of 10 tokens; the missing 70 are 7 tasks.
  expect(play({ tasksPerStep: 3, tokens: 100, refills: 0 }, [10])).toMatchObject({
    waves: [3, 7],
    progress: { tokens: 100 },
  });
  // One wave is enough.
  expect(play({ tasksPerStep: 12, tokens: 100, refills: 0 }, [10]).waves).toEqual([12]);
});

test("a step ends with the requested tokens, and waves grow by a bounded factor", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 30 });
  const counts = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20_000 }));
  fc.assert(
    fc.property(lengths, counts, ([...lengthsOf], [tasksPerStep, wanted]) => {
      const { progress, waves } = play({ tasksPerStep, tokens: wanted, refills: 0 }, lengthsOf);
      expect(progress.tokens).toBeGreaterThanOrEqual(wanted);
      // A wave at most quadruples the tasks so far, whatever the first tasks were like.
      expect(progress.tasks).toBeLessThanOrEqual(
        Math.max(tasksPerStep, 5 * (progress.tasks - (waves.at(-1) ?? 0))),
      );
    }),
  );
});

/** The judge of an evaluation besides a training: it finds the run's verdicts and records its own with them. */
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import { momentOf } from "../rollout/judging.ts";
import { layoutOf } from "../runs/layout.ts";
import { acquireLock, type Lock } from "../runs/lock.ts";
import type { RecordedCalls } from "../calls/recorded.ts";
import { unrecordedCalls } from "../calls/recorded.ts";
import { openRecordedCalls, readRecordedCalls } from "../runs/recorded-calls.ts";
import type { RecordedJudge } from "./judging.ts";

export interface EvaluationJudge extends AsyncDisposable {
  /** Null: the recipe's judge does not judge evaluations. */
  readonly judging: RecordedJudge | null;
}

/**
 * Takes the run's lock until it is disposed of. While another process has it, or if nothing can be written there, new
 * verdicts are not recorded.
 * @param run null: a model directory
 */
export async function evaluationJudge(
  { judge, algorithm }: Pick<ResolvedRecipe, "judge" | "algorithm">,
  run: string | null,
): Promise<EvaluationJudge> {
  if (judge?.evaluation !== true) return { judging: null, [Symbol.asyncDispose]: async () => {} };
  const lock = run === null ? null : await acquireLock(run).catch(() => null);
  try {
    const calls = await callsOf(run, lock);
    const judging = { judge, moment: momentOf(judge, algorithm.sampling), calls };
    return { judging, [Symbol.asyncDispose]: async () => lock?.release() };
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

async function callsOf(run: string | null, lock: Lock | null): Promise<RecordedCalls> {
  if (run === null) return unrecordedCalls();
  const { verdicts } = layoutOf(run);
  return lock === null ? readRecordedCalls(verdicts) : withoutFailures(await openRecordedCalls(verdicts));
}

/** A failure counts for the episode of a training in which it occurred; the next evaluation asks again. */
function withoutFailures(calls: RecordedCalls): RecordedCalls {
  return {
    get: (key) => calls.get(key),
    put: (answers) => calls.put(answers.filter((one) => !("failure" in one))),
  };
}

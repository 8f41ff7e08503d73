/** Answers of a coach that are no verdicts, kept with the run's verdicts so that people can see what it said. */
import { z } from "zod";
import { toVisible } from "../../format.ts";
import type { RecordedCalls } from "../../calls/recorded.ts";
import type { Subject } from "../subject.ts";

export const rejectedSchema = z.object({
  /** Why it is no verdict. */
  problem: z.string(),
  text: z.string(),
});

export type Rejected = z.output<typeof rejectedSchema>;

/** In characters: of each answer the beginning. */
const longestKept = 2000;

/** In a run: of a coach that never gives a verdict, the first ones tell. */
const mostKept = 1000;

const counts = new WeakMap<RecordedCalls, number>();

/** Recorded at once: a run that stops because of such answers must show them. */
export async function keepRejected(
  calls: RecordedCalls,
  about: Subject,
  { problem, text }: Rejected,
): Promise<void> {
  const number = counts.get(calls) ?? recordedIn(calls);
  counts.set(calls, number + 1);
  if (number >= mostKept) return;
  const answer: Rejected = { problem, text: toVisible(text.slice(0, longestKept)) };
  await calls.put([{ key: keyOf(number), answer, about }]);
}

function recordedIn(calls: RecordedCalls): number {
  let number = 0;
  while (calls.get(keyOf(number)) !== undefined) number += 1;
  return number;
}

function keyOf(number: number): string {
  return `coach rejected ${number}`;
}

/**
 * How fast work on tokens is, measured for a few seconds: begins with a little of it, does more each time, and stops at
 * the whole or when the time is used up. Large models process a few tokens per second, so that a batch would take minutes.
 */
import type { Datum } from "../../engines/engine.ts";
import { sum } from "../../statistics.ts";

export interface Rate {
  /** Tokens per second of the last measurement. */
  readonly rate: number;
  /** What it processed, and what there is. */
  readonly tokens: number;
  readonly whole: number;
  /** By how much the last two measurements differ, as a share of the last; null: there was time for only one. */
  readonly spread: number | null;
}

/** Tokens of the first measurement, which also allocates memory and fills caches. */
const fewest = 32;
/** Each measurement is at most this many times as large as the one before it. */
const growth = 4;

/**
 * @param tasks the data of each
 * @param work processes data and returns how many tokens they were
 * @param seconds Only the first measurement may take longer.
 */
export async function measureRate(
  tasks: readonly (readonly Datum[])[],
  work: (data: readonly Datum[]) => Promise<number>,
  seconds: number,
): Promise<Rate> {
  const whole = tokensIn(tasks.flat());
  const rates: number[] = [];
  let [left, size, tokens, before] = [seconds, Math.min(whole, fewest), 0, 0];
  for (;;) {
    const portion = portionOf(tasks, size);
    let done = 0;
    const taken = await secondsOf(async () => void (done = await work(portion)));
    rates.push(done / taken);
    tokens = tokensIn(portion);
    left -= taken;
    const more = Math.min(growth, left / taken);
    if (more < 1 || (size === whole && before === whole)) break;
    [before, size] = [size, Math.min(whole, Math.floor(size * more))];
  }
  const [rate = 0, previous] = rates.toReversed();
  const spread = previous === undefined ? null : Math.abs(previous - rate) / rate;
  return { rate, tokens, whole, spread };
}

/**
 * The first tasks, shortened so that together they have about this many tokens: all prompts and actions by the same share,
 * since policies may differ in size.
 */
export function portionOf(tasks: readonly (readonly Datum[])[], tokens: number): Datum[] {
  const taken: Datum[] = [];
  for (const task of tasks) {
    if (tokensIn(taken) >= tokens) break;
    taken.push(...task);
  }
  const share = tokens / tokensIn(taken);
  return share >= 1 ? taken : taken.map((datum) => shortened(datum, share));
}

function shortened({ policy, prompt, continuations }: Datum, share: number): Datum {
  const part = (all: Int32Array) => all.slice(0, Math.max(1, Math.round(all.length * share)));
  return {
    policy,
    prompt: part(prompt),
    continuations: continuations.map(({ tokens }) => ({ tokens: part(Int32Array.from(tokens)) })),
  };
}

/** Prompts once, all continuations. */
export function tokensIn(data: readonly Datum[]): number {
  return sum(
    data.map(
      ({ prompt, continuations }) => prompt.length + sum(continuations.map(({ tokens }) => tokens.length)),
    ),
  );
}

export async function secondsOf(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

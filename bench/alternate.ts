/** Measures sides alternately, so that other load on the machine affects all of them equally. */

export interface Side {
  readonly name: string;
  /** One call of the work; resolves to its duration in seconds. */
  once(): Promise<number>;
}

/** Each side gets its time in this many slices. */
const rounds = 5;

/**
 * Runs the sides alternately for about `seconds` each.
 *
 * @returns the median seconds of one call, by side. A call longer than its slice is still repeated three to five times,
 * for a median.
 */
export async function alternate(sides: readonly Side[], seconds: number): Promise<Map<string, number>> {
  const times = new Map<string, number[]>(sides.map((side) => [side.name, []]));
  for (const side of sides) await warmUp(side, seconds);
  const start = performance.now();
  const late = (): boolean => performance.now() - start > 2000 * seconds * sides.length;
  for (let round = 0; round < rounds && !(round >= 3 && late()); round++) {
    for (const side of sides) times.get(side.name)?.push(...(await slice(side, seconds / rounds)));
  }
  return new Map([...times].map(([name, list]) => [name, median(list)]));
}

/** The first call allocates buffers and plans; the second finds them. */
async function warmUp(side: Side, seconds: number): Promise<void> {
  if ((await side.once()) < seconds) await side.once();
}

async function slice(side: Side, seconds: number): Promise<number[]> {
  const times: number[] = [];
  let spent = 0;
  do {
    const time = await side.once();
    times.push(time);
    spent += time;
  } while (spent < seconds);
  return times;
}

/** NaN of no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** A side that runs `work` in this process. */
export function timed(name: string, work: () => unknown): Side {
  return {
    name,
    async once() {
      const start = performance.now();
      await work();
      return (performance.now() - start) / 1000;
    },
  };
}

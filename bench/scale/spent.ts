/** What a piece of work costs this process. */

export interface Spent {
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** Processor seconds of all threads, garbage collection included: independent of other processes. */
  readonly cpuSeconds: number;
}

export async function spent<T>(work: () => Promise<T>): Promise<Spent & { readonly value: T }> {
  const before = process.cpuUsage();
  const start = performance.now();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return { value, seconds: (performance.now() - start) / 1000, cpuSeconds: (user + system) / 1e6 };
}

/** Megabytes in use after garbage collection. Needs `--expose-gc`. */
export function heapMegabytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}

/** What a piece of work costs this process. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface Spent {
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** Processor seconds of all threads, garbage collection included: independent of other processes. */
  readonly cpuSeconds: number;
  /** In which the main thread was busy: the time that Troupe adds at most, on a quiet machine. */
  readonly busySeconds: number;
}

export async function spent<T>(work: () => Promise<T>): Promise<Spent & { readonly value: T }> {
  const before = process.cpuUsage();
  const loop = performance.eventLoopUtilization();
  const start = performance.now();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return {
    value,
    seconds: (performance.now() - start) / 1000,
    cpuSeconds: (user + system) / 1e6,
    busySeconds: performance.eventLoopUtilization(loop).active / 1000,
  };
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Megabytes in use after garbage collection, arrays outside the heap included. */
export function heapMegabytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

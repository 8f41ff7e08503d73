/** Prices, with the day on which they were read. They change: check them before a long run. */

/** Dollars per million tokens at Tinker, by the service's name of a model. */
export const hostedPrices: Readonly<Record<string, TokenPrice>> = {
  // https://tinker-docs.thinkingmachines.ai/tinker/models/models_and_pricing/
  "Qwen/Qwen3-8B": { prefill: 0.195, sample: 0.6, train: 0.44, day: "2026-10-07" },
  // https://thinkingmachines.ai/tinker/, of which later prices of this model are not known.
  "Qwen/Qwen3-4B-Instruct-2507": { prefill: 0.07, sample: 0.22, train: 0.22, day: "2026-01-05" },
};

export interface TokenPrice {
  readonly prefill: number;
  readonly sample: number;
  readonly train: number;
  /** On which it was read. */
  readonly day: string;
}

export interface Gpu {
  readonly title: string;
  readonly memoryBytes: number;
  /** Memory bandwidth. */
  readonly bytesPerSecond: number;
  /** Dense bfloat16 operations per second. */
  readonly flops: number;
  /** Of one GPU on demand. */
  readonly dollarsPerHour: number;
}

/**
 * Data sheets of the manufacturer; dollars on demand in machines of 8 at lambda.ai/instances, the H200 at
 * akash.network/pricing/gpus, both read on 2026-09-20. Other providers ask from half to three times as much.
 */
export const gpus = {
  a100: gpu("A100 80 GB", 80e9, 2.039e12, 312e12, 2.79),
  h100: gpu("H100 80 GB", 80e9, 3.35e12, 989e12, 3.99),
  h200: gpu("H200 141 GB", 141e9, 4.8e12, 989e12, 4.45),
  b200: gpu("B200 180 GB", 180e9, 7.7e12, 2250e12, 6.69),
} as const satisfies Readonly<Record<string, Gpu>>;

export type GpuName = keyof typeof gpus;

function gpu(
  title: string,
  memoryBytes: number,
  bytesPerSecond: number,
  flops: number,
  dollarsPerHour: number,
): Gpu {
  return { title, memoryBytes, bytesPerSecond, flops, dollarsPerHour };
}

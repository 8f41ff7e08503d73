/** What GPUs can do, by the manufacturer's data sheets. */
export interface Gpu {
  readonly title: string;
  readonly memoryBytes: number;
  /** Memory bandwidth. */
  readonly bytesPerSecond: number;
  /** Dense bfloat16 operations per second. */
  readonly flops: number;
}

export const gpus = {
  a100: { title: "A100 80 GB", memoryBytes: 80e9, bytesPerSecond: 2.039e12, flops: 312e12 },
  h100: { title: "H100 80 GB", memoryBytes: 80e9, bytesPerSecond: 3.35e12, flops: 989e12 },
  h200: { title: "H200 141 GB", memoryBytes: 141e9, bytesPerSecond: 4.8e12, flops: 989e12 },
  b200: { title: "B200 180 GB", memoryBytes: 180e9, bytesPerSecond: 7.7e12, flops: 2250e12 },
} as const satisfies Readonly<Record<string, Gpu>>;

export type GpuName = keyof typeof gpus;

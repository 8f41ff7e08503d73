/** GPUs: what they can do, by the manufacturer's data sheets, and what they cost, by dated lists in recipes/cluster/prices.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { shippedFolder } from "../recipes/shipped.ts";

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

const dated = { day: z.iso.date(), source: z.string() };
const dollars = z.number().positive();
const pricesSchema = z.strictObject({
  hosted: z
    .record(z.string(), z.strictObject({ prefill: dollars, sample: dollars, train: dollars, ...dated }))
    .describe("Dollars per million tokens at Tinker, by the service's name of a model."),
  gpus: z
    .record(z.enum(["a100", "h100", "h200", "b200"]), z.strictObject({ perHour: dollars, ...dated }))
    .describe("Dollars per hour of one GPU on demand, in machines of 8."),
});

type Prices = z.output<typeof pricesSchema>;
export type TokenPrice = Prices["hosted"][string];

let read: Prices | undefined;

function prices(): Prices {
  read ??= pricesSchema.parse(
    JSON.parse(readFileSync(join(shippedFolder, "cluster", "prices.json"), "utf8")),
  );
  return read;
}

/** Of one GPU. Providers ask from half to three times as much. */
export function dollarsPerHour(gpu: GpuName): number {
  return prices().gpus[gpu].perHour;
}

/** Undefined: the price is not known. @param model the service's name */
export function tokenPrice(model: string): TokenPrice | undefined {
  const { hosted } = prices();
  return Object.hasOwn(hosted, model) ? hosted[model] : undefined;
}

/** Prices in recipes/cluster/prices.json, each with the day on which it was read. They change: check them before a long run. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { shippedFolder } from "../recipes/shipped.ts";
import type { GpuName } from "./gpus.ts";

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

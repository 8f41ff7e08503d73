/** A plan as lines for people. */
import { showBytes, showCount, showDays, showLarge } from "../format.ts";
import { gpus } from "./gpus.ts";
import { typicalShare, type ClusterPlan, type Cost, type PlannedServer } from "./plan.ts";

export function planLines(plan: ClusterPlan): string[] {
  return [
    ...plan.servers.map(serverLine),
    ...loadLines(plan),
    ...costLines(plan),
    ...plan.assumptions.map((assumption) => `assumed: ${assumption}`),
  ];
}

function serverLine({ name, kind, model, policies, size }: PlannedServer): string {
  const what = policies.map((policy) => `${policy.name} (${describe(policy)})`).join(", ");
  const split = size.colocated ? "" : ` (${size.training} to train, ${size.sampling} to sample)`;
  return (
    `server ${name}: ${kind}, ${model}; ${what}; ${count(size.gpus, "GPU")}${split} with ${showBytes(size.gpuBytes)} ` +
    `in use, ${showBytes(size.hostBytes)} of main memory`
  );
}

function describe({ adapter, trainable }: PlannedServer["policies"][number]): string {
  return adapter === undefined ? "whole model" : `rank ${adapter.rank}, ${showCount(trainable)} parameters`;
}

function loadLines({ loads }: ClusterPlan): string[] {
  return Object.entries(loads).map(
    ([name, { prefilled, sampled, trained }]) =>
      `policy ${name}: at most ${showLarge(prefilled)} prompt tokens, ${showLarge(sampled)} sampled, ` +
      `${showLarge(trained)} trained on`,
  );
}

function costLines(plan: ClusterPlan): string[] {
  // Neither servers of GPUs nor a service: nothing is paid.
  if (plan.servers.length === 0 && plan.prices.length === 0) return [];
  const share = `at ${typicalShare * 100} % of the longest actions`;
  return [
    `at most: ${showCost(plan.atMost)}; ${share}: ${showCost(plan.typical)}`,
    // Policies may share a model.
    ...(plan.servers.length > 0 ? [gpuLine(plan)] : new Set(plan.prices.map(priceLine))),
  ];
}

function gpuLine({ gpus: all, gpu, dollarsPerHour }: ClusterPlan): string {
  return (
    `${count(all, gpus[gpu].title)} at $${dollarsPerHour} per hour each; hours are within a factor of three, ` +
    "without time in tools, sandboxes and judges"
  );
}

function priceLine([model, price]: ClusterPlan["prices"][number]): string {
  if (price === undefined) return `${model}: no known price, and perhaps not served`;
  const { prefill, sample, train, day } = price;
  return `${model}: $${prefill} prompt, $${sample} sampled, $${train} trained per million tokens on ${day}`;
}

function showCost({ hours, dollars }: Cost): string {
  const time =
    hours === undefined
      ? []
      : [
          `${rounded(hours.total)} h (${rounded(hours.sampling)} sampling, ${rounded(hours.training)} training)`,
          ...(hours.total < 72 ? [] : [showDays(hours.total / 24)]),
        ];
  const price = dollars === undefined ? "price not known" : `$${rounded(dollars)}`;
  return [...time, price].join(", ");
}

/** Two digits are more than is known. */
function rounded(value: number): string {
  return value >= 10 ? showCount(Math.round(value)) : value.toPrecision(2);
}

function count(number: number, what: string): string {
  return `${number} × ${what}`;
}

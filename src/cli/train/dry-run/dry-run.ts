/** `troupe train --dry-run`: the resolved recipe, and an estimate of its cost on this machine. Nothing is kept. */
import { contextWarnings } from "../../../cluster/contexts.ts";
import type { GpuName } from "../../../cluster/gpus.ts";
import { planCluster } from "../../../cluster/plan.ts";
import { planLines } from "../../../cluster/report.ts";
import { showBytes, showCount, showDuration, showLarge, showShare } from "../../../format.ts";
import type { JudgeEstimate } from "../../../judges/judge.ts";
import type { PlannedRecipe, ResolvedRecipe } from "../../../recipes/resolve.ts";
import { recipeWarnings, showWarning } from "../../../recipes/validation/warnings.ts";
import { annotatedYaml } from "../../../recipes/write.ts";
import type { Work } from "../../../train/estimate.ts";
import { memoryShortage } from "../../../train/memory.ts";
import { withServices } from "../../../train/services.ts";
import { namedTeams } from "../../../train/teams.ts";
import { originLines } from "../../data/given.ts";
import { printJson, printLines, printNote } from "../../print.ts";
import { checkMachine, toolLines } from "../../needs.ts";
import { tableLines } from "../../table.ts";
import { calibrate, type Calibration } from "./calibrate.ts";

const signalsTitle = "references, critics, influence";

/** The parts of a run, and the measured rates that apply to the tokens of prompts and of actions in each. */
const parts = [
  { key: "warmStart", title: "warm start", prompts: "supervised", actions: "supervised" },
  { key: "sampling", title: "sampling", prompts: "prompts", actions: "sampled" },
  { key: "training", title: "training", prompts: "grouped", actions: "grouped" },
  { key: "signals", title: signalsTitle, prompts: "grouped", actions: "grouped" },
  { key: "evaluation", title: "evaluation", prompts: "prompts", actions: "sampled" },
] as const;

interface Part extends Work {
  readonly title: string;
  readonly seconds: number;
}

export async function dryRun(resolved: PlannedRecipe, json: boolean): Promise<void> {
  const { servers } = resolved.configuredEngine;
  const isMeasurable = servers === null || servers.startedBy === "anyone";
  if (!isMeasurable || resolved.missing.length > 0) return dryRunElsewhere(resolved, json);
  return dryRunHere(resolved, json);
}

/** Measures this machine, or a server of Troupe. */
async function dryRunHere(resolved: ResolvedRecipe, json: boolean): Promise<void> {
  await checkMachine(resolved.environment);
  const teams = namedTeams(resolved.recipe, resolved.environment);
  const tools = await withServices((services) => toolLines(teams[0].team, services));
  const { recipe, environment } = resolved;
  const { data = null } = environment;
  if (!json) printLines([annotatedYaml(recipe, resolved.originOf), ...originLines(data ?? {})]);
  const calibration = await calibrate(resolved, teams, printNote);
  const timed = parts.map((part) => timedPart(part, calibration)).filter(isShown);
  const seconds = timed.reduce((sum, part) => sum + part.seconds, 0);
  const contexts = Object.fromEntries(calibration.policies.map(({ name, maxLength }) => [name, maxLength]));
  const roles = teams.flatMap(({ team }) => team.roles).map((role) => ({ role, prompt: 1 }));
  const warnings = [...recipeWarnings(resolved), ...contextWarnings(roles, contexts)];
  if (json) return printJson({ recipe, data, warnings, seconds, parts: timed, ...calibration });
  printLines([
    ...calibration.policies.map(policyLine),
    ...tools,
    "",
    ...partTable(timed),
    "",
    ...totals(calibration, seconds, tools.length > 0),
    ...warnings.map(showWarning),
  ]);
}

function timedPart({ key, title, prompts, actions }: (typeof parts)[number], calibration: Calibration): Part {
  const { [key]: work, training } = calibration.estimate;
  if (tokensOf(work) === 0) return { title, ...work, seconds: 0 };
  // These are mostly forward passes: their FLOPs are assumed to run at training's rate.
  const share = key === "signals" ? work.flops / tokensOf(work) / (training.flops / tokensOf(training)) : 1;
  const rates = calibration.tokensPerSecond;
  const seconds = share * (work.promptTokens / rates[prompts] + work.actionTokens / rates[actions]);
  return { title, ...work, seconds };
}

function tokensOf({ promptTokens, actionTokens }: Work): number {
  return promptTokens + actionTokens;
}

/** Most recipes have no references and no critics, and do not measure influence. */
function isShown({ title, samples }: Part): boolean {
  return samples > 0 || title !== signalsTitle;
}

function policyLine({ name, parameters, trainable }: Calibration["policies"][number]): string {
  const share = trainable === parameters ? "" : `, ${showCount(trainable)} of them trained`;
  return `policy ${name}: ${showCount(parameters)} parameters${share}`;
}

function partTable(timed: readonly Part[]): string[] {
  const rows = timed.map(({ title, samples, promptTokens, actionTokens, flops, seconds }) => [
    title,
    showCount(samples),
    showLarge(promptTokens),
    showLarge(actionTokens),
    showLarge(flops),
    showDuration(seconds),
  ]);
  const titles = ["samples", "prompt tokens", "action tokens", "FLOP", "time"];
  return tableLines(
    [{ title: "at most" }, ...titles.map((title) => ({ title, align: "right" as const }))],
    rows,
  );
}

function judgingLines(judging: JudgeEstimate): string[] {
  const { requests, inputTokens, outputTokens, dollars, priceOf } = judging;
  const tokens = `about ${showLarge(inputTokens)} tokens in and ${showLarge(outputTokens)} out if they are as long as the policies'`;
  const prices = priceOf === null ? "" : ` at prices of ${priceOf}`;
  const cost = dollars === null ? "the price is not known" : `about $${dollars.toFixed(2)}${prices}`;
  return [
    `judge: about ${showCount(requests)} requests without retries, ${tokens}, ${cost}`,
    ...budgetLines(judging),
  ];
}

/** Where the judge's budget ends the run. */
function budgetLines({ requests, inputTokens, outputTokens, dollars, budget = {} }: JudgeEstimate): string[] {
  const used = { requests, tokens: inputTokens + outputTokens, dollars: dollars ?? 0 };
  const limits = [
    { name: "requests", text: `${showCount(budget.requests ?? 0)} requests` },
    { name: "tokens", text: `${showLarge(budget.tokens ?? 0)} tokens` },
    { name: "dollars", text: `$${budget.dollars ?? 0}` },
  ] as const;
  const set = limits.filter(({ name }) => budget[name] !== undefined);
  if (set.length === 0) return [];
  const passed = set.filter(({ name }) => used[name] > (budget[name] ?? Infinity));
  const shares = passed.map(({ name }) => (budget[name] ?? 0) / used[name]);
  const end =
    passed.length === 0
      ? "enough"
      : `used up after about ${showShare(Math.min(...shares))}: the run stops there`;
  return [`budget: ${set.map(({ text }) => text).join(", ")}, ${end}`];
}

function totals(calibration: Calibration, seconds: number, hasTools: boolean): string[] {
  const { engine, tokensPerSecond, memory, deviceMemory, estimate } = calibration;
  const { supervised, grouped, prompts, sampled } = tokensPerSecond;
  const rates = [
    ...(supervised === 0 ? [] : [`${showLarge(supervised)} warm start`]),
    ...(grouped === 0 ? [] : [`${showLarge(grouped)} training in groups`]),
    `${showLarge(prompts)} prompts`,
    `${showLarge(sampled)} sampling`,
  ];
  const shortage = memoryShortage(calibration);
  const isWhole = calibration.measured.tokens === calibration.measured.of;
  return [
    `time: about ${showDuration(seconds)}`,
    ...(deviceMemory === null ? [] : [`memory of the GPU: about ${showBytes(deviceMemory)}`]),
    calibration.memoryIsPredicted
      ? `memory: about ${showBytes(memory)}, with all that the engine holds`
      : `memory: ${isWhole ? "about" : "at least"} ${showBytes(memory)}, more for larger batches; ` +
        `${showBytes(estimate.bytes.weights)} of it for weights, gradients and moments`,
    ...(shortage === null ? [] : [`warning: the ${shortage.problem}; ${shortage.fix}`]),
    `disk: ${showBytes(estimate.bytes.checkpoint)} per checkpoint`,
    ...(estimate.judging === null ? [] : judgingLines(estimate.judging)),
    "",
    `Measured with this recipe's models and typical prompts on the ${engine}, in tokens per second:`,
    `${rates.join(", ")}.`,
    measuredLine(calibration.measured),
    ...busyLines(calibration.measured),
    ...(hasTools ? ["Calls of tools, and the longer prompts after them, are not included."] : []),
    "A group's prompt counts once; episodes count at full length, so a team that succeeds early takes less.",
    "Nothing was written.",
  ];
}

/** How the rates were found, and how sure they are. */
function measuredLine({ tokens, of, spread }: Calibration["measured"]): string {
  const how =
    tokens === of
      ? "Each rate was measured more than once"
      : `Extrapolated from ${showCount(tokens)} of ${showCount(of)} tokens of such batches, with shortened prompts and actions`;
  if (spread === null) return `${how}; only one measurement was possible, so these times may be far off.`;
  return `${how}; two measurements of a rate differ by up to ${showShare(spread)}.`;
}

/** Two quiet processors gave 87 to 91 % with a whole tiny model and an adapter on a large one. More processors were not tried. */
const quietShare = 0.6;

export function busyLines({ processorShare }: Pick<Calibration["measured"], "processorShare">): string[] {
  if (processorShare === null || processorShare >= quietShare) return [];
  return [
    `The machine was busy: Troupe got ${showShare(processorShare)} of its processors while it measured, so these times are too long.`,
  ];
}

/** `troupe cluster` plans with others. */
const gpu: GpuName = "h100";

/** The dry run of a recipe that trains elsewhere, or whose models or data are not here: nothing is measured. */
async function dryRunElsewhere(resolved: PlannedRecipe, json: boolean): Promise<void> {
  const plan = await planCluster(resolved, { gpu });
  const { missing } = resolved;
  const warnings = [...recipeWarnings(resolved), ...plan.warnings];
  if (json) return printJson({ recipe: resolved.recipe, warnings, missing, plan });
  printLines([
    annotatedYaml(resolved.recipe, resolved.originOf),
    "",
    ...planLines(plan),
    ...missing.map((each) => `not checked: ${each}`),
    ...warnings.map(showWarning),
    "",
    resolved.configuredEngine.servers === null
      ? "Nothing was written."
      : "No server was asked, and nothing was written.",
  ]);
}

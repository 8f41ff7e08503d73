/** The measurements as tables for people. */
import { tableLines, type Column } from "../src/cli/table.ts";
import { showSettings, target, type EndToEnd, type SideFigures } from "./end-to-end/measure.ts";
import type { Measurements } from "./measure.ts";
import type { EpisodeCost } from "./scale/episodes.ts";
import { sampling, sharing, training } from "./shapes.ts";
import type { Training } from "./training.ts";

/** Tables separated by blank lines. */
export function reportLines(found: Measurements): string[] {
  const { machine, peer, models } = found;
  const head = [
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB · ${machine.engine} · Node ${machine.node}` +
      (peer === undefined
        ? ""
        : ` · PyTorch ${peer.torch}, transformers ${peer.transformers}, ${peer.threads} threads`),
  ];
  const ofModels = models.length === 0 ? [] : [trainingTable, samplingTable, shareTable, sharedPromptTable];
  const ofGames = found.games.length === 0 ? [] : [gameLines];
  const ofVocabularies = found.vocabularies.length === 0 ? [] : [vocabularyLines];
  const ofSandboxes = found.sandboxes === undefined ? [] : [sandboxLines];
  const ofScale = found.scale === undefined ? [] : [scaleLines];
  const ofEndToEnd = found.endToEnd === undefined ? [] : [endToEndLines];
  const kinds = [...ofModels, ...ofGames, ...ofVocabularies, ...ofSandboxes, ...ofScale, ...ofEndToEnd];
  const tables = kinds.map((lines) => lines(found));
  return [head, ...tables].flatMap((lines) => [...lines, ""]);
}

function trainingTable({ models }: Measurements): string[] {
  const rows = models.map(({ training: row }) => [
    row.model,
    count(row.bfloat16),
    count(row.float32),
    count(row.peer?.bfloat16),
    count(row.peer?.float32),
    times(row.ratio?.bfloat16),
    times(row.ratio?.float32),
  ]);
  const titles = [
    "model",
    "bfloat16",
    "float32",
    "PyTorch autocast",
    "PyTorch float32",
    "ratio",
    "ratio, float32",
  ];
  const { sequences, prompt, continuation } = training;
  const shape = `${sequences} sequences of ${prompt} + ${continuation} tokens, nothing shared`;
  return [`Training, tokens/s (${shape})`, ...table(titles, rows)];
}

function samplingTable({ models }: Measurements): string[] {
  const rows = models.flatMap((model) =>
    model.sampling.map((row) => [
      row.model,
      String(row.batch),
      count(row.bfloat16),
      count(row.peer?.bfloat16),
      count(row.peer?.float32),
      times(row.ratio),
    ]),
  );
  const titles = ["model", "batch", "bfloat16", "generate bfloat16", "generate float32", "ratio"];
  const shape = `${sampling.newTokens} new tokens after prompts of ${sampling.prompt}`;
  return [`Sampling, new tokens/s (${shape})`, ...table(titles, rows)];
}

function shareTable({ models, products }: Measurements): string[] {
  if (products === undefined)
    return ["Share of the matrix-product rate: the kernel benchmark could not be built here."];
  const rows = models.flatMap(({ training: row }) =>
    (["bfloat16", "float32"] as const).map((precision) => {
      const reached = gflops(row, precision);
      const [own, theirs] = [products.ours[precision], products.oneDnn?.[precision]];
      return [
        row.model,
        precision,
        count(reached),
        count(own),
        share(reached, own),
        count(theirs),
        share(reached, theirs),
      ];
    }),
  );
  const titles = [
    "model",
    "precision",
    "training",
    "best product",
    "share",
    "oneDNN's best",
    "share of that",
  ];
  return ["Matrix products, GFLOP/s (training: 6 · parameters · tokens/s)", ...table(titles, rows)];
}

function gflops(row: Training, precision: "bfloat16" | "float32"): number {
  return (6 * row.parameters * row[precision]) / 1e9;
}

function sharedPromptTable({ models }: Measurements): string[] {
  const rows = models.map(({ sharedPrompts: row }) => [row.model, times(row.training), times(row.sampling)]);
  const { groups, samples, prompt, continuation } = sharing;
  const shape = `${groups} groups of ${samples}, prompts of ${prompt}, ${continuation} tokens each`;
  return [
    `Shared prompts, gain over the same sequences apart (${shape})`,
    ...table(["model", "training", "sampling"], rows),
  ];
}

function gameLines({ games }: Measurements): string[] {
  const rows = games.map((row) => [row.game, count(row.tasksPerSecond), count(row.transitionsPerSecond)]);
  return ["Rules of the games, one core", ...table(["game", "tasks/s", "state transitions/s"], rows)];
}

function vocabularyLines({ vocabularies }: Measurements): string[] {
  const rows = vocabularies.map(({ like, entries, ours, library, ratio }) => [
    like,
    count(entries),
    ...[ours, library].flatMap(({ seconds, megabytes }) => [seconds.toFixed(2), count(megabytes)]),
    times(ratio.seconds),
    times(ratio.megabytes),
  ]);
  const titles = ["like", "entries", "s", "MB", "library s", "library MB", "ratio, time", "ratio, memory"];
  return ["Vocabularies, read and used once in a fresh process", ...table(titles, rows)];
}

function sandboxLines({ sandboxes = [] }: Measurements): string[] {
  const rows = sandboxes.map((row) => [row.name, count(row.suitesPerSecond), times(row.ratio)]);
  return ["Programs: test suites", ...table(["where", "suites/s", "ratio"], rows)];
}

/** The first column is a name, the others are numbers. */
function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const columns = titles.map((title, index): Column => ({ title, align: index === 0 ? "left" : "right" }));
  return tableLines(columns, rows);
}

function count(value: number | undefined): string {
  return value === undefined ? "–" : Math.round(value).toLocaleString("en-US");
}

function times(value: number | undefined): string {
  return value === undefined ? "–" : `${value.toFixed(1)}×`;
}

function share(part: number, whole: number | undefined): string {
  return whole === undefined ? "–" : `${Math.round((100 * part) / whole)} %`;
}

function scaleLines({ scale }: Measurements): string[] {
  if (scale === undefined) return [];
  const { atOnce, concurrent, day } = scale;
  const rowOf = (what: string, cost: EpisodeCost, ...parts: readonly [string, string]) => [
    what,
    count(cost.episodes),
    count(cost.mostAtOnce),
    `${cost.perEpisode.toFixed(2)} ms`,
    `${cost.perAction.toFixed(2)} ms`,
    ...parts,
  ];
  const rows = [
    ...atOnce.map((cost) => rowOf("replies at once", cost, "", "")),
    rowOf("replies of a server", concurrent, percent(concurrent.share), percent(concurrent.busyShare)),
  ];
  const titles = [
    "",
    "episodes",
    "at a time",
    "processor time",
    "per action",
    "of the server's time",
    "main thread",
  ];
  const heap = day.heapMegabytes.map((size) => size.toFixed(0)).join(", ");
  return [
    "Scale (simulated engine, processor time of this process)",
    ...table(titles, rows),
    `${day.simulatedHours.toFixed(1)} h of training, ${count(day.steps)} steps, ${count(day.actions)} actions: ` +
      `${percent(day.share)} of the server's time; megabytes in use at tenths: ${heap}`,
  ];
}

function percent(ratio: number): string {
  return `${(100 * ratio).toFixed(1)} %`;
}

function endToEndLines({ endToEnd = [] }: Measurements): string[] {
  const arrival = `s to ${100 * target} %`;
  const titles = [
    "",
    "best step, s",
    "ratio",
    "median",
    "processor",
    "tokens",
    "trained",
    arrival,
    "ratio",
    "success",
  ];
  const rows = endToEnd.flatMap(({ size, ours, trl }) => [
    [`${size}, Troupe`, ...sideCells(ours)],
    ...(trl === undefined ? [] : [[`${size}, TRL`, ...sideCells(trl, ours)]]),
  ]);
  return [
    "End to end: GRPO with one reply to each prompt, seconds and tokens of a step",
    ...table(titles, rows),
    ...endToEnd.flatMap(noteLines),
  ];
}

/** @param beside whose speed is shown as a multiple of this side's */
function sideCells(side: SideFigures, beside?: SideFigures): string[] {
  const { best, seconds, processor, sampled, trained, arrival, progress, steps } = side;
  const end = progress.at(-1);
  return [
    best.toFixed(2),
    beside === undefined ? "" : times(best / beside.best),
    seconds.toFixed(2),
    processor.toFixed(2),
    count(sampled),
    count(trained),
    arrival === null ? "–" : arrival.toFixed(0),
    beside === undefined ? "" : times(arrivalRatio(side, beside)),
    end === undefined ? "–" : `${share(end.success, 1)} after ${steps} steps, ${end.seconds.toFixed(0)} s`,
  ];
}

function arrivalRatio({ arrival }: SideFigures, beside: SideFigures): number | undefined {
  return arrival === null || beside.arrival === null ? undefined : arrival / beside.arrival;
}

function noteLines({ size, samples, tasksPerStep, promptTokens, ours, trl }: EndToEnd): string[] {
  const work = `${tasksPerStep} prompts of ${promptTokens.toFixed(0)} tokens, ${samples} replies each, ${ours.steps} steps`;
  if (trl === undefined)
    return [`${size}: ${work}; TRL skipped: TROUPE_TRL_PYTHON names no Python that has it`];
  return [`${size}: ${work}; ${trl.versions}, ${showSettings(trl.settings)}`];
}

/** `troupe cluster RECIPE`: the files and commands that start a recipe's servers, and whether they are ready. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Command, Option } from "commander";
import { gpus, type GpuName } from "../cluster/gpus.ts";
import { places, type Layout, type Launch, type Place } from "../cluster/launch/launch.ts";
import { launchOf, needsNoServers } from "../cluster/launch/start.ts";
import { planCluster, type ClusterPlan } from "../cluster/plan.ts";
import { waitUntilReady } from "../cluster/ready.ts";
import { planLines } from "../cluster/report.ts";
import { command, shellWord } from "../command-line.ts";
import type { PlannedRecipe } from "../recipes/resolve.ts";
import { recipeWarnings, showWarning } from "../recipes/validation/warnings.ts";
import { makeDirectory } from "../runs/durable.ts";
import {
  notNegative,
  wholeNumber,
  planArguments,
  withRecipeArguments,
  type OverrideOptions,
} from "./arguments.ts";
import { printJson, printLines, printNote } from "./print.ts";

interface ClusterOptions extends OverrideOptions {
  readonly on: Place;
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly gpu: GpuName;
  readonly perHour?: number;
  readonly shared: string;
  readonly checkout?: string;
  readonly image?: string;
  readonly output?: string;
  readonly wait?: true | string;
  readonly minutes: number;
  readonly json?: boolean;
}

export function clusterCommand(): Command {
  return withRecipeArguments(new Command("cluster"))
    .description(
      "plan a recipe's servers: size, price, and the files and commands that start them (docs/gpu-and-servers.md)",
    )
    .addOption(new Option("--on <place>", "where the servers run").choices(places).default("machine"))
    .option("--nodes <n>", "number of machines", wholeNumber(1), 1)
    .option("--gpus-per-node <n>", "GPUs of each machine", wholeNumber(1), 8)
    .addOption(new Option("--gpu <gpu>", "kind of GPU").choices(Object.keys(gpus)).default("h100"))
    .option("--per-hour <dollars>", "price of one GPU (default: that of prices.json)", notNegative)
    .option("--shared <folder>", "folder that all nodes see, for checkpoints", "/shared/troupe")
    .option(
      "--checkout <folder>",
      "SkyRL's checkout on every node (default: /opt/SkyRL, /home/ray/SkyRL in pods)",
    )
    .option("--image <image>", "container of a node, with Ray and uv, for Kubernetes (default: SkyRL's)")
    .option("--output <folder>", "write the files there instead of printing them")
    .option("--wait [url]", "wait until the servers have made the recipe's models; url: engine.url")
    .option("--minutes <n>", "longest time that --wait waits", wholeNumber(1), 30)
    .option("--json", "print one JSON document")
    .action(async (recipe: string, overrides: string[], options: ClusterOptions) => {
      const address = typeof options.wait === "string" ? [`engine.url=${options.wait}`] : [];
      const resolved = await planArguments(recipe, [...overrides, ...address], options);
      if (options.wait !== undefined) return wait(resolved, options.minutes);
      // Its models may have no size that is known.
      if (resolved.configuredEngine.servers === null) throw needsNoServers();
      const { gpu, perHour } = options;
      const plan = await planCluster(resolved, { gpu, perHour });
      const words = [recipe, ...overrides, ...(options.override ? ["--override", ...options.override] : [])];
      const warnings = [...recipeWarnings(resolved), ...plan.warnings];
      await show({ ...plan, warnings }, launchOf(plan, layoutOf(options)), { ...options, words });
    });
}

function layoutOf({
  on: place,
  nodes,
  gpusPerNode,
  shared,
  checkout = place === "kubernetes" ? "/home/ray/SkyRL" : "/opt/SkyRL",
  image,
}: ClusterOptions): Layout {
  return { place, nodes, gpusPerNode, shared, checkout, image };
}

async function wait({ recipe, configuredEngine }: PlannedRecipe, minutes: number): Promise<void> {
  await waitUntilReady(() => configuredEngine.open(), recipe, {
    seconds: 60 * minutes,
    retrySeconds: 10,
    noteSeconds: 30,
    note: printNote,
  });
  printLines(["The servers are ready: they made the recipe's models."]);
}

interface Shown extends ClusterOptions {
  /** The recipe and its overrides, as given. */
  readonly words: readonly string[];
}

async function show(plan: ClusterPlan, launch: Launch, { output, json, words }: Shown): Promise<void> {
  if (output !== undefined) await writeFiles(output, launch.files);
  if (json === true) return printJson({ plan: withoutTables(plan), ...launch });
  const files = Object.entries(launch.files);
  printLines([
    ...plan.warnings.map(showWarning),
    ...planLines(plan),
    ...files.flatMap(([name, text]) =>
      output === undefined
        ? ["", `# ${name}`, ...text.trimEnd().split("\n")]
        : [`wrote ${join(output, name)}`],
    ),
    "",
    "# commands",
    ...(output === undefined ? [] : [`cd ${shellWord(output)}`]),
    ...launch.commands,
    "",
    "# then, where Troupe runs",
    ...(output === undefined ? [] : ["cd -"]),
    command("cluster", ...words, "--wait"),
    command("train", ...words),
    "",
    ...launch.later.map((line) => `# ${line}`),
  ]);
}

/** Without the numbers of a model that follow from others. */
function withoutTables(plan: ClusterPlan): unknown {
  return JSON.parse(JSON.stringify(plan, (_, value: unknown) => (isTable(value) ? undefined : value)));
}

function isTable(value: unknown): boolean {
  const isList = Array.isArray(value) && value.length > 0;
  return ArrayBuffer.isView(value) || (isList && value.every((each) => ArrayBuffer.isView(each)));
}

async function writeFiles(folder: string, files: Launch["files"]): Promise<void> {
  await makeDirectory(folder, "nothing was written");
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

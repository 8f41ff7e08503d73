/** `troupe runs weights RUN`: what servers keep of a run: lists, downloads or deletes it. */
import fs from "node:fs/promises";
import path from "node:path";
import { Command } from "commander";
import { z } from "zod";
import { runsFolder } from "../../command-line.ts";
import type { SavedPolicy } from "../../engines/engine.ts";
import type { RemoteWeights, ServerWeights } from "../../engines/kind.ts";
import { TroupeError } from "../../errors.ts";
import { showCount } from "../../format.ts";
import { ifPresent } from "../../present.ts";
import { engineOf } from "../../recipes/resolve.ts";
import { recipeSchema } from "../../recipes/schema.ts";
import { checkpointSteps, readCheckpoint } from "../../runs/checkpoints.ts";
import { layoutOf } from "../../runs/layout.ts";
import { readRecipe } from "../../runs/read.ts";
import { basesOf, sftName } from "../../train/teams.ts";
import { findRun } from "../places.ts";
import { printLines, printNote } from "../print.ts";
import { adapterSchema } from "../../models/adapter-options.ts";
import { tableLines } from "../table.ts";

const columns = ["policy", "step", "path", "server"].map((title) => ({ title }));

interface WeightsOptions {
  readonly runs: string;
  readonly policy?: string;
  readonly out?: string;
  readonly base?: string;
  readonly delete?: boolean;
}

interface Kept extends RemoteWeights {
  readonly policy: string;
  readonly step: number;
}

export function weightsCommand(): Command {
  return new Command("weights")
    .description("list the weights that servers keep of a run; download or delete them")
    .argument("<run>", "name or folder of a run")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--policy <name>", "only this policy's")
    .option("--out <directory>", "download the newest as a model or adapter directory")
    .option("--base <directory>", "with --out: this machine's copy of an adapter's base model")
    .option("--delete", "delete them at the server; the run can then not be resumed")
    .action(weights);
}

async function weights(given: string, options: WeightsOptions): Promise<void> {
  if (options.delete && options.out !== undefined)
    throw new TroupeError("bad_arguments", "give --out or --delete, not both");
  const directory = await findRun(given, options.runs);
  const { servers } = await engineOf(layoutOf(directory).recipe);
  const all = servers === null ? [] : await atServers(servers.weights, directory);
  const kept = all.filter(({ policy }) => options.policy === undefined || policy === options.policy);
  if (servers === null || kept.length === 0)
    throw new TroupeError(
      "bad_arguments",
      `servers keep nothing of ${given}${options.policy === undefined ? "" : `'s policy ${options.policy}`}; weights of the local engine are in its checkpoints`,
    );
  if (options.out !== undefined) return download(directory, servers.weights, kept, options.out, options.base);
  if (options.delete) for (const each of kept) await servers.weights.delete(each);
  const rows = kept.map(({ policy, step, path: at, url }) => [policy, String(step), at, url]);
  printLines(tableLines(columns, rows));
  if (options.delete) printLines(["deleted at the server; the run cannot be resumed from them"]);
}

/** Without those that were deleted there. */
async function atServers(store: ServerWeights, directory: string): Promise<readonly Kept[]> {
  const named = await keptOf(directory, store);
  try {
    const kept = await store.stillKept(named);
    if (kept.length < named.length)
      printNote(`${showCount(named.length - kept.length)} more are named by checkpoints, but deleted`);
    return kept;
  } catch (error) {
    printNote(`what checkpoints name; the server did not say what it still has: ${messageOf(error)}`);
    return named;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** By step, the newest last; before them trained bases, which adapters are useless without. */
async function keptOf(directory: string, store: ServerWeights): Promise<readonly Kept[]> {
  const { checkpoints } = layoutOf(directory);
  const found: Kept[] = [];
  let bases: readonly Kept[] = [];
  const at = (policy: string, step: number, saved: SavedPolicy): Kept => ({
    ...store.locate(saved),
    policy,
    step,
  });
  for (const step of await checkpointSteps(checkpoints)) {
    const { state } = await readCheckpoint(path.join(checkpoints, `step-${step}`));
    for (const [policy, saved] of Object.entries(state.policies)) found.push(at(policy, step, saved));
    const trained = step - state.stageStep;
    bases = Object.entries(state.bases ?? {}).map(([base, saved]) => at(sftName(base), trained, saved));
  }
  return [...bases, ...found];
}

async function download(
  run: string,
  store: ServerWeights,
  kept: readonly Kept[],
  out: string,
  base: string | undefined,
): Promise<void> {
  const newest = kept.at(-1) as Kept;
  const other = kept.find(({ policy }) => policy !== newest.policy);
  if (other !== undefined)
    throw new TroupeError("bad_arguments", `choose one with --policy: ${newest.policy} or ${other.policy}`);
  await store.download(newest, out, { mostBytes: await mostBytes(run, store, newest.policy) });
  if (base !== undefined) await setBase(out, path.resolve(base));
  const taught = await taughtBaseOf(run, newest.policy);
  if (taught !== null)
    printNote(`its base is ${taught}, which the warm start trained: download that too, for --base`);
  printLines([`${newest.policy} of step ${newest.step}: ${out}`]);
}

/** Null: the policy is no adapter, or on a model that the warm start did not change. */
async function taughtBaseOf(run: string, policy: string): Promise<string | null> {
  const { data: recipe } = recipeSchema.safeParse(await readRecipe(run));
  if (recipe?.policies[policy]?.adapter === undefined) return null;
  const base = basesOf(recipe).get(policy);
  return base === undefined ? null : sftName(base);
}

const policies = z.object({
  policies: z.record(
    z.string(),
    z.object({
      model: z.object({ path: z.string() }),
      adapter: adapterSchema.pick({ rank: true, targetModules: true }).optional(),
    }),
  ),
});

/** Undefined: the model is not on this machine. */
async function mostBytes(run: string, store: ServerWeights, policy: string): Promise<number | undefined> {
  const found = policies.safeParse(await readRecipe(run)).data?.policies[policy];
  if (found === undefined) return undefined;
  return store.mostBytes(path.resolve(found.model.path), found.adapter).catch(() => undefined);
}

/** The server's path of an adapter's base means nothing here. */
async function setBase(directory: string, base: string): Promise<void> {
  const file = path.join(directory, "adapter_config.json");
  const text = await ifPresent(file, () => fs.readFile(file, "utf8"));
  if (text === null) throw new TroupeError("bad_arguments", `${directory} is not an adapter; omit --base`);
  const config = { ...(JSON.parse(text) as object), base_model_name_or_path: base };
  await fs.writeFile(file, `${JSON.stringify(config, null, 2)}\n`);
}

/** What a kind of engine is to recipes: its settings, what it can do with them, what it has fixed, and how it is opened. */
import path from "node:path";
import { TroupeError } from "../errors.ts";
import type { AdapterOptions } from "../models/adapter-options.ts";
import type { Engine, EngineCapabilities, Loss, SavedPolicy, AdamOptions, StoredPolicy } from "./engine.ts";

/** One row of the table of kinds (open.ts), or what a module of the user's exports. */
export interface EngineKind<Settings = unknown> {
  /** Checks the settings and fills in defaults. Experiments set `threads`, where there is one, to a run's share of the processors. */
  readonly options: { parse(input: unknown): Settings };
  /** Settings that are paths, relative to the file that sets them, each with the words that are none. */
  readonly paths?: Readonly<Record<string, readonly string[]>>;
  /** Known without starting the engine, so that recipes can be checked anywhere. */
  capabilities(settings: Settings): EngineCapabilities;
  /** The caller closes it. */
  open(settings: Settings, options: EngineOpenOptions): Engine | Promise<Engine>;
  /** What messages add to the kind's name: " with the profile `hosted`". */
  variant?(settings: Settings): string;
  /** Of settings that are allowed but suspicious; keys are relative to `engine`. */
  warnings?(settings: Settings): readonly SettingWarning[];
  /** Whether such a loss costs another forward pass. Absent: none does. */
  needsForward?(settings: Settings, loss: Loss): boolean;
  /** Absent: it computes in this process, and saves in the run's folder. */
  servers?(settings: Settings): EngineServers;
}

export interface EngineOpenOptions {
  /** Name of the run, for people who list sessions and weights at a server. */
  readonly run?: string;
  /** File for what a program of the engine writes to its standard error. Absent: only messages quote it. */
  readonly log?: string;
  /** Told in words when a process of the engine is replaced. */
  readonly report?: (notice: string) => void;
}

export interface SettingWarning {
  readonly key: string;
  readonly problem: string;
  /** What to do instead. */
  readonly fix: string;
}

/** The servers of an engine that computes elsewhere. */
export interface EngineServers {
  /** Who starts them: `troupe cluster`, a service that is paid by the token, or somebody with any machine. */
  readonly startedBy: "cluster" | "service" | "anyone";
  /** What runs there: `skyrl-fsdp`. */
  readonly software: string;
  /** Policies that the settings name. */
  readonly policies: readonly string[];
  /** Address of the server that computes for a policy. */
  urlOf(policy: string): string;
  /** The server's name of a model, by that of its directory. */
  modelName(directory: string): string;
  readonly weights: ServerWeights;
}

/** Saved weights that servers keep. */
export interface ServerWeights {
  /** Where they are. */
  locate(saved: SavedPolicy): RemoteWeights;
  /** A model's or adapter's directory for other programs. @throws TroupeError if it cannot be fetched whole */
  download(
    weights: RemoteWeights,
    directory: string,
    options?: { readonly mostBytes?: number | undefined },
  ): Promise<void>;
  /** What saved weights can have at most. @param model a directory @param adapter absent: the whole model */
  mostBytes(model: string, adapter?: Pick<AdapterOptions, "rank" | "targetModules">): Promise<number>;
  delete(weights: RemoteWeights): Promise<void>;
  /** Those that the servers still have. @throws TroupeError if one cannot be asked, or does not say */
  stillKept<T extends RemoteWeights>(all: readonly T[]): Promise<readonly T[]>;
}

export interface RemoteWeights {
  /** `tinker://RUN/KIND/NAME` */
  readonly path: string;
  readonly url: string;
}

/** A kind with checked settings. */
export interface ConfiguredEngine {
  /** Of the kind: `local`; of a module that of its export or file. */
  readonly name: string;
  /** In messages: "the engine `tinker` with the profile `hosted`". */
  readonly title: string;
  readonly capabilities: EngineCapabilities;
  readonly warnings: readonly SettingWarning[];
  readonly servers: EngineServers | null;
  needsForward(loss: Loss): boolean;
  /** The caller closes it. */
  open(options?: EngineOpenOptions): Promise<Engine>;
}

/** @param settings that the kind's `options` have parsed */
export function configureEngine<Settings>(
  name: string,
  kind: EngineKind<Settings>,
  settings: Settings,
): ConfiguredEngine {
  return {
    name,
    title: `the engine \`${name}\`${kind.variant?.(settings) ?? ""}`,
    capabilities: kind.capabilities(settings),
    warnings: kind.warnings?.(settings) ?? [],
    servers: kind.servers?.(settings) ?? null,
    needsForward: (loss) => kind.needsForward?.(settings, loss) ?? false,
    open: async (options = {}) => kind.open(settings, options),
  };
}

/** The policies of each server, in the recipe's order; all of them where there is none. */
export function policiesByServer(
  { servers }: Pick<ConfiguredEngine, "servers">,
  policies: readonly string[],
): readonly (readonly string[])[] {
  if (servers === null) return [policies];
  return [...Map.groupBy(policies, (policy) => servers.urlOf(policy)).values()];
}

/** What of the adapter is not possible, and the nearest that is; null: nothing. */
export function adapterProblem(
  { alpha, targetModules }: Pick<AdapterOptions, "alpha" | "targetModules">,
  { limits }: EngineCapabilities,
): { readonly field: "alpha" | "targetModules"; readonly expected: string } | null {
  const { adapterAlpha, adapterModules } = limits ?? {};
  if (adapterAlpha !== undefined && alpha !== adapterAlpha)
    return { field: "alpha", expected: String(adapterAlpha) };
  const groups = adapterModules ?? [];
  const chosen = groups.filter((group) => group.every((module) => targetModules.includes(module)));
  const isPossible = chosen.flat().length === targetModules.length && chosen.length > 0;
  if (groups.length === 0 || isPossible) return null;
  return { field: "targetModules", expected: groups.map((group) => `[${group.join(", ")}]`).join(", ") };
}

/** @throws TroupeError `unsupported` */
export function checkAdapter(adapter: AdapterOptions, capabilities: EngineCapabilities, title: string): void {
  const problem = adapterProblem(adapter, capabilities);
  if (problem === null) return;
  throw new TroupeError(
    "unsupported",
    `${title} has only adapters whose ${problem.field} is ${problem.expected}.`,
  );
}

/** Fields of the optimizer that have another value than the engine's own. */
export function adamProblems(
  adam: Partial<AdamOptions>,
  { limits }: EngineCapabilities,
): readonly { readonly field: keyof AdamOptions; readonly expected: number }[] {
  const fixed = Object.entries(limits?.adam ?? {}) as [keyof AdamOptions, number][];
  return fixed
    .filter(([field, value]) => adam[field] !== undefined && adam[field] !== value)
    .map(([field, expected]) => ({ field, expected }));
}

/** @throws TroupeError `unsupported` */
export function checkAdam(adam: AdamOptions, capabilities: EngineCapabilities, title: string): void {
  const [problem] = adamProblems(adam, capabilities);
  if (problem === undefined) return;
  throw new TroupeError("unsupported", `${title} has a fixed ${problem.field} of ${problem.expected}.`);
}

/** The directory for other programs; null: the engine keeps the weights elsewhere. */
export function savedDirectory({ saved, folder }: StoredPolicy): string | null {
  return saved.directory === null ? null : path.join(folder, saved.directory);
}

/** How servers are started at a place: files to write, and commands to run in order. */
import type { ClusterPlan, PlannedServer } from "../plan.ts";

export const places = ["machine", "ray", "ray-job", "kubernetes", "slurm"] as const;
export type Place = (typeof places)[number];

export interface Layout {
  readonly place: Place;
  readonly nodes: number;
  readonly gpusPerNode: number;
  /** Folder that all nodes see, for checkpoints. */
  readonly shared: string;
  /** SkyRL's checkout on every node. */
  readonly checkout: string;
  /** Container with the server's dependencies, for Kubernetes. */
  readonly image: string;
}

export interface Launch {
  /** By file name. */
  readonly files: Readonly<Record<string, string>>;
  /** In order; those of other nodes say so. */
  readonly commands: readonly string[];
}

export interface Server {
  readonly plan: ClusterPlan;
  readonly server: PlannedServer;
  readonly layout: Layout;
}

/** The port that clients use. */
export function portOf({ url }: PlannedServer): string {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? "443" : "80") : port;
}

/** For a shell: safe text as it is, other text in quotes. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** One word per line, so that long commands stay readable. */
export function shell(words: readonly string[]): string {
  return words
    .map(quoted)
    .join(" ")
    .replaceAll(/ (--[a-z])/g, " \\\n  $1");
}

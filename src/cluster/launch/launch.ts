/** How servers are started at a place: files to write, and commands to run in order. */
import { shellWord } from "../../command-line.ts";
import type { PlannedServer } from "../plan.ts";

export const places = ["machine", "ray", "ray-job", "kubernetes", "slurm"] as const;
export type Place = (typeof places)[number];

export interface Layout {
  readonly place: Place;
  readonly nodes: number;
  readonly gpusPerNode: number;
  /** Folder that all nodes see, for checkpoints. */
  readonly shared: string;
  /** SkyRL's checkout on every node; a pod without one fetches it there. */
  readonly checkout: string;
  /** Container with Ray and uv, for Kubernetes (default: SkyRL's). */
  readonly image?: string | undefined;
}

export interface Launch {
  /** By file name. */
  readonly files: Readonly<Record<string, string>>;
  /** In order; those of other nodes say so. */
  readonly commands: readonly string[];
  /** For later: how to reach the servers from where Troupe runs, and how to end them, which cost until then. */
  readonly later: readonly string[];
}

/** A planned server, and where it starts. */
export interface PlacedServer {
  readonly server: PlannedServer;
  readonly layout: Layout;
  /** Of the whole run, at most. */
  readonly hours: number;
}

/** The fewest nodes that have so many GPUs together, and how many each of them gives. */
export function nodesFor(
  gpus: number,
  { gpusPerNode }: Layout,
): { readonly nodes: number; readonly perNode: number } {
  const nodes = Math.max(1, Math.ceil(gpus / gpusPerNode));
  return { nodes, perNode: Math.ceil(gpus / nodes) };
}

/** Main memory of one of a server's nodes. */
export function gigabytesPerNode({ hostBytes }: PlannedServer["size"], nodes: number): number {
  return Math.ceil(hostBytes / nodes / 1e9);
}

/** The port that clients use. */
export function portOf({ url }: PlannedServer): string {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? "443" : "80") : port;
}

/** Goes on when the terminal is closed. The script's process becomes the server. */
export function inBackground(file: string): string {
  const name = file.replace(/\.sh$/, "");
  return `nohup bash ${file} > ${name}.log 2>&1 & echo $! > ${name}.pid`;
}

/** Undoes `inBackground`. */
export function endOf(file: string): string {
  return `to stop: kill $(cat ${file.replace(/\.sh$/, "")}.pid)`;
}

/** To a server that listens on its own machine only. */
export function tunnelTo(host: string, server: PlannedServer): string {
  const port = portOf(server);
  return `from other machines: ssh -N -L ${port}:127.0.0.1:${port} ${host}`;
}

/** One word per line, so that long commands stay readable. */
export function shell(words: readonly string[]): string {
  return words
    .map(shellWord)
    .join(" ")
    .replaceAll(/ (--[a-z])/g, " \\\n  $1");
}

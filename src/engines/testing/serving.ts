/** Starts `troupe serve` in a process of its own. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Serving {
  readonly url: string;
  stop(): Promise<void>;
  /** Without a chance to clean up. */
  kill(): Promise<void>;
}

const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

export interface ServingOptions {
  /** Default: any free one. */
  readonly port?: number;
  /** For saved weights. Default: a temporary one, removed at the end. */
  readonly folder?: string;
  readonly arguments?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** One thread in float32, unless the arguments say otherwise. */
export async function startServing(
  models: readonly string[],
  options: ServingOptions = {},
): Promise<Serving> {
  const own = options.folder === undefined ? mkdtempSync(join(tmpdir(), "troupe-served-")) : null;
  const place = ["--port", String(options.port ?? 0), "--folder", options.folder ?? own ?? ""];
  const engine = ["--threads", "1", "--precision", "float32", "--quiet"];
  const child = spawn(
    process.execPath,
    [main, "serve", ...models, ...place, ...engine, ...(options.arguments ?? [])],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...options.environment },
    },
  );
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`troupe serve ended with ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = /^(http:\S+) serves/.exec(line)?.[1];
      if (found === undefined) process.stderr.write(`${line}\n`);
      else resolve(found);
    });
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
    if (own !== null) rmSync(own, { recursive: true, force: true });
  };
  return { url, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

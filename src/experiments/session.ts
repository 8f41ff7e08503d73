/** What made a report's numbers: the program, the machine, the command. No names of hosts, users or folders. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { isPresentSync } from "../present.ts";
import type { Share } from "./jobs.ts";
import type { ReportSession } from "./records.ts";

/** The package's folder, from `src/` and from `dist/`. */
const packageRoot = join(import.meta.dirname, "..", "..");

export function sessionOf(command: string, { jobs, threads }: Share): ReportSession {
  const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
    version: string;
  };
  return {
    date: new Date().toISOString().slice(0, 10),
    command,
    version,
    commit: commitOf(packageRoot),
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    jobs,
    threads,
  };
}

/** Null: not a checkout, or no git. */
function commitOf(folder: string): string | null {
  if (!isPresentSync(join(folder, ".git"))) return null;
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return null;
  }
}

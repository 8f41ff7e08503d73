/** The command line shown in an experiment's report, without anything specific to this machine. */
import { basename, isAbsolute, join, relative, resolve } from "node:path";
import { shellWord } from "../command-line.ts";

export const defaultRuns = join("runs", "experiments");

export interface Call {
  /** The experiment, a name or a file, as given. */
  readonly given: string;
  /** Default: the experiment's. */
  readonly seeds?: readonly number[] | undefined;
  /** Only these are run; the report shows everything known. */
  readonly rows?: readonly string[] | undefined;
  readonly columns?: readonly string[] | undefined;
  readonly jobs?: number | undefined;
  /** Folder of the runs. */
  readonly runs: string;
  /** Folder of the report; by default that of the runs. */
  readonly report: string;
}

/** The command as called. Folders are included unless they are the defaults. */
export function commandLine({ given, seeds, rows, columns, jobs, runs, report }: Call): string {
  const folders = {
    runs: isSame(runs, defaultRuns) ? null : portable(runs),
    report: isSame(report, runs) ? null : portable(report),
  };
  const options = Object.entries({ seeds, rows, columns, jobs, ...folders }).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`--${name}`, shellWord(String(value))],
  );
  return ["troupe experiment", shellWord(portable(given) ?? basename(given)), ...options].join(" ");
}

/**
 * The command that makes the whole report, whichever part was made last, and continues it in place.
 *
 * @param seeds of the report; included if they are not the experiment's own
 */
export function wholeCommand(call: Call, seeds: readonly number[], own: readonly number[]): string {
  const isOwn = seeds.length === own.length && own.every((seed) => seeds.includes(seed));
  const { given, runs, report } = call;
  return commandLine({ given, runs, report, seeds: isOwn ? undefined : seeds });
}

function isSame(one: string, other: string): boolean {
  return resolve(one) === resolve(other);
}

/** The relative path. Null for an absolute one outside the working directory: it means nothing on another machine. */
function portable(path: string): string | null {
  const fromHere = relative(process.cwd(), path) || ".";
  return fromHere.startsWith("..") && isAbsolute(path) ? null : fromHere;
}

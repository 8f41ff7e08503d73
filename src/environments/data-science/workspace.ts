/**
 * Runs a program on the files of a state: they are written into a new workspace, and what is there afterwards are the
 * files of the next state. What the program leaves is data: links, devices and folders are not files, the task's own
 * files are as before, and only a limited number of files with ordinary names is kept.
 */
import { storeFile, type FileReference, type FileStore } from "../../files/store.ts";
import { showLines } from "../../format.ts";
import { runModelProgram, type ModelProgram } from "../../sandbox/model-program.ts";
import { problemOf } from "../../sandbox/problem.ts";
import type { ProgramResult } from "../../sandbox/sandbox.ts";
import type { Context } from "../environment.ts";
import { sandboxOf } from "../sandbox-of.ts";
import type { DataScienceOptions } from "./options.ts";

export type WorkspaceFiles = Readonly<Record<string, FileReference>>;

export interface WorkspaceRun {
  readonly files: WorkspaceFiles;
  /** The end of standard output and of standard error. */
  readonly output: string;
  /** Null: it exited with code 0. */
  readonly problem: string | null;
}

export interface Workspace {
  readonly store: FileStore;
  readonly files: WorkspaceFiles;
  /** Those of the task, which programs cannot change. */
  readonly given: WorkspaceFiles;
}

const longestProgram = 65_536;
const outputBytes = 2 ** 18;

/** @throws ServiceError if the sandbox fails; TroupeError `no_sandbox`, `cancelled` */
export async function runInWorkspace(
  source: string,
  { store, files, given }: Workspace,
  options: DataScienceOptions,
  context: Context,
): Promise<WorkspaceRun> {
  if (source.length > longestProgram)
    return { files, output: "", problem: `the program is longer than ${longestProgram} characters` };
  const result = await runProgram(
    { source, files: await contentsOf(store, files), outputs: ["**"] },
    options,
    context,
  );
  const kept = await keptFiles(store, result.files, given, options.files);
  const notes = kept.left === 0 ? [] : [`${kept.left} files were removed: too many, or an unusual name.`];
  return {
    files: kept.files,
    output: [shownOutput(result, options.outputCharacters), ...notes].filter((one) => one !== "").join("\n"),
    problem: problemOf(result, { ...options, outputBytes }),
  };
}

/** Of a trusted script on some of the files: what it printed, or null if it did not end well. */
export async function runChecker(
  source: string,
  stdin: string,
  { store, files }: Pick<Workspace, "store" | "files">,
  options: DataScienceOptions,
  context: Context,
): Promise<string | null> {
  const result = await runProgram({ source, stdin, files: await contentsOf(store, files) }, options, context);
  return result.ended === "exited" && result.exitCode === 0 ? result.stdout : null;
}

async function runProgram(
  program: ModelProgram,
  options: DataScienceOptions,
  context: Context,
): Promise<ProgramResult> {
  const { seconds, diskMegabytes, files } = options;
  return runModelProgram(
    sandboxOf(context),
    { packages: "data-science", ...program },
    { ...options, outputBytes },
    context.signal,
    { wallSeconds: 3 * seconds + 10, diskBytes: diskMegabytes * 2 ** 20, files: 4 * files },
  );
}

async function contentsOf(store: FileStore, files: WorkspaceFiles): Promise<Record<string, Uint8Array>> {
  const read = Object.entries(files).map(async ([name, { hash }]) => [name, await store.get(hash)] as const);
  return Object.fromEntries(await Promise.all(read));
}

/** Letters, digits and a few signs; no part begins with a dot or two underscores. */
const ordinary = /^(?!.*(^|\/)(\.|__))[\p{L}\p{N} ._\-/()+,=@]{1,120}$/u;
const mainFile = "main.py";

async function keptFiles(
  store: FileStore,
  found: ProgramResult["files"],
  given: WorkspaceFiles,
  most: number,
): Promise<{ readonly files: WorkspaceFiles; readonly left: number }> {
  const own = Object.entries(found).filter(
    ([name]) => name !== mainFile && !Object.hasOwn(given, name) && !isBelow(name, given),
  );
  const ordinaryOnes = own.filter(([name]) => ordinary.test(name));
  const kept = ordinaryOnes.slice(0, Math.max(0, most - Object.keys(given).length));
  const stored: [string, FileReference][] = [];
  for (const [name, bytes] of kept) stored.push([name, await storeFile(store, bytes)]);
  return { files: { ...given, ...Object.fromEntries(stored) }, left: own.length - kept.length };
}

/** A folder in place of a given file: both cannot be. */
function isBelow(name: string, given: WorkspaceFiles): boolean {
  return Object.keys(given).some((one) => name.startsWith(`${one}/`)) || name.startsWith(`${mainFile}/`);
}

function shownOutput({ stdout, stderr }: ProgramResult, characters: number): string {
  const text = showLines(
    [stdout, stderr]
      .map((one) => one.trim())
      .filter((one) => one !== "")
      .join("\n"),
  );
  return text.length <= characters ? text : `…${text.slice(1 - characters)}`.toWellFormed();
}

/** A program in the form that a worker gets, after validation. */
import { TroupeError } from "../../errors.ts";
import { withDefaults, type Limits } from "../limits.ts";
import type { Program } from "../sandbox.ts";
import { encodeWith } from "./frames.ts";

export interface Request {
  readonly limits: Limits;
  readonly payload: Buffer;
}

/** The file of the source. */
const mainFile = "main.py";

/** @throws TroupeError `bad_arguments` if a path leaves the workspace, or a limit is invalid */
export function requestFor(program: Program, interactive: boolean, defaults: Limits): Request {
  const limits = withDefaults(program.limits, defaults);
  const files = Object.entries(program.files ?? {}).map(([name, data]) => [name, bytesOf(data)] as const);
  for (const [name] of files) checkPath(name, "files");
  for (const glob of program.outputs ?? []) checkPath(glob, "outputs");
  const [source, stdin] = [bytesOf(program.source), bytesOf(program.stdin ?? "")];
  const meta = {
    source: source.length,
    stdin: stdin.length,
    files: files.map(([name, data]) => [name, data.length]),
    arguments: (program.arguments ?? []).map(checkArgument),
    outputs: program.outputs ?? [],
    limits,
    interactive,
  };
  return { limits, payload: encodeWith(meta, [source, stdin, ...files.map(([, data]) => data)]) };
}

/** Lone surrogates, which are not UTF-8, become U+FFFD. */
function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? Buffer.from(data.toWellFormed()) : data;
}

export function checkPath(path: string, where: string): void {
  const parts = path.split("/");
  const leadsOut = parts.some((part) => part === "" || part === "." || part === "..");
  if (leadsOut || path.includes("\0") || !path.isWellFormed())
    throw wrong(
      `${where}: ${JSON.stringify(path)} is not a path inside the workspace, such as data/cases.json.`,
    );
  if (where === "files" && path === mainFile)
    throw wrong(`files: ${mainFile} is the source itself; give the file another name.`);
}

function checkArgument(argument: string): string {
  if (argument.includes("\0")) throw wrong("arguments: no argument can have a zero byte.");
  return argument.toWellFormed();
}

function wrong(message: string): TroupeError {
  return new TroupeError("bad_arguments", message);
}

/** Loads a user's module, with one clear sentence per failure. */
import { createHash } from "node:crypto";
import { readdirSync, realpathSync, statSync, readFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { nearestName } from "../../nearest.ts";
import { isPresentSync } from "../../present.ts";
import { showPath } from "../tree.ts";
import { describeImportError } from "./import-errors.ts";
import { nativeImport, type Imported } from "./native-import.ts";

export interface LoadedModule {
  readonly file: string;
  readonly exported: Readonly<Record<string, unknown>>;
  /** Hash of the module and the files it imports. */
  readonly hash: string;
}

/** Why a module cannot be used, and what to do. */
export class ModuleError extends Error {
  readonly fix: string | undefined;

  constructor(problem: string, fix?: string, cause?: unknown) {
    super(problem, { cause });
    this.name = "ModuleError";
    this.fix = fix;
  }
}

/**
 * @param given a path that starts with `./`, `../` or `/`, or an installed package's name
 * @param folder that it is relative to
 * @throws ModuleError
 */
export async function loadModule(given: string, folder: string): Promise<LoadedModule> {
  const path = given.startsWith("file:") ? fileURLToPath(given) : given;
  const from = pathToFileURL(join(folder, "recipe.yaml")).href;
  const specifier = isPath(path) ? pathToFileURL(foundFile(path, folder)).href : path;
  const { exported, url, files } = await imported(specifier, from, { given, folder });
  const file = fileURLToPath(url);
  const paths = files.map((each) => fileURLToPath(each));
  return { file, exported, hash: contentHash(file, paths) };
}

async function imported(
  specifier: string,
  from: string,
  { given, folder }: { readonly given: string; readonly folder: string },
): Promise<Imported> {
  try {
    const found = await nativeImport(specifier, from);
    if (found.url.startsWith("file:")) return found;
  } catch (error) {
    const { problem, fix } = describeImportError(error, given, folder);
    throw new ModuleError(problem, fix, error);
  }
  const fix = "name a file, as in ./coins.ts, or an installed package";
  throw new ModuleError(`${given} is neither a file nor an installed package`, fix);
}

function isPath(given: string): boolean {
  return /^\.{0,2}[/\\]|^\.{1,2}$/.test(given) || isAbsolute(given);
}

/** Relative to the folder, or to the target of a link to the folder. */
function foundFile(given: string, folder: string): string {
  const file = resolve(folder, given);
  const behindLink = resolve(realPath(folder), given);
  const found = [file, behindLink].find((place) => isA(place, "isFile"));
  if (found !== undefined) return found;
  if (isA(file, "isDirectory")) {
    throw new ModuleError(`${given} is a folder`, `name a file in it, as in ${join(given, "index.ts")}`);
  }
  const fix = nearestFile(file) ?? "a path is relative to the file that names it";
  throw new ModuleError(`there is no file ${given}, relative to ${showPath(folder)}`, fix);
}

function realPath(folder: string): string {
  return isPresentSync(folder) ? realpathSync(folder) : folder;
}

function isA(place: string, kind: "isFile" | "isDirectory"): boolean {
  return statSync(place, { throwIfNoEntry: false })?.[kind]() ?? false;
}

function nearestFile(file: string): string | undefined {
  let names: string[];
  try {
    names = readdirSync(dirname(file));
  } catch {
    return undefined;
  }
  const same = names.find((name) => name.replace(/\.[cm]?[jt]s$/, "") === basename(file));
  const nearest = same ?? nearestName(basename(file), names);
  return nearest === undefined ? undefined : `did you mean ${nearest}?`;
}

/**
 * A hash of the contents of a module's files: 16 hexadecimal digits, unchanged if the whole folder is moved. Files that
 * the module reads at run time are not covered.
 */
export function contentHash(entry: string, files: readonly string[]): string {
  const hash = createHash("sha256");
  const named = files.map((file) => [relative(dirname(entry), file).replaceAll(sep, "/"), file] as const);
  for (const [name, file] of named.toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const content = readFileSync(file);
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex").slice(0, 16);
}

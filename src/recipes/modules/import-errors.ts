/** Explains why Node could not import a module, and which line of the user's threw an error. */
import { readdirSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { didYouMean } from "../../nearest.ts";
import { isPresentSync } from "../../present.ts";
import { showPath } from "../tree.ts";

interface Described {
  readonly problem: string;
  readonly fix?: string;
}

/**
 * @param given the module as named in the recipe
 * @param folder of the recipe
 */
export function describeImportError(error: unknown, given: string, folder: string): Described {
  const code = codeOf(error);
  const message = messageOf(error);
  switch (code) {
    case "ERR_MODULE_NOT_FOUND":
      return notFound(message, given, folder);
    case "ERR_PACKAGE_PATH_NOT_EXPORTED":
      return { problem: `the package does not export ${given}`, fix: "see `exports` in its package.json" };
    case "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING":
      return {
        problem: `${given} is TypeScript inside node_modules, where Node does not run TypeScript`,
        fix: "packages must ship JavaScript: compile it before publishing",
      };
    case "ERR_UNSUPPORTED_ESM_URL_SCHEME":
    case "ERR_UNKNOWN_FILE_EXTENSION":
    case "ERR_IMPORT_ATTRIBUTE_MISSING":
      return { problem: `${given} is not a module`, fix: "name a file that ends in .ts, .mts, .js or .mjs" };
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX":
      return {
        problem: `${sourceOf(error) ?? given}: ${message}`,
        fix: "Node only strips types: use erasable TypeScript syntax",
      };
    default:
      return error instanceof SyntaxError
        ? { problem: `${sourceOf(error) ?? given}: ${message}` }
        : { problem: `${given} threw ${thrown(error)} while loading` };
  }
}

/** Not found: the module itself, or something it imports. */
function notFound(message: string, given: string, folder: string): Described {
  const [, kind = "module", what = given, from = ""] =
    /^Cannot find (package|module) '(.*)' imported from (.*)$/.exec(message) ?? [];
  const isEntry = from === join(folder, "recipe.yaml");
  if (isEntry && isPresentSync(join(folder, given))) {
    return { problem: `there is no package ${given}`, fix: `write ./${given} for the file` };
  }
  if (isEntry) {
    const meant = didYouMean(packageOf(what), installedPackages(folder));
    const fix = meant ?? `install it (\`npm install ${what}\`), or start the path of a file with ./`;
    return { problem: `there is no package ${given}, resolved from ${showPath(folder)}`, fix };
  }
  const problem = `${showPath(from)} imports ${kind === "package" ? what : showPath(what)}, which was not found`;
  return kind === "package"
    ? { problem, fix: `install it for the module: \`npm install ${what}\`` }
    : { problem, fix: "imports need file extensions: ./rules.ts" };
}

function packageOf(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}

/** Names of the packages installed where Node looks from the folder. */
function installedPackages(folder: string): readonly string[] {
  const place = join(folder, "node_modules");
  const names = readNames(place).flatMap((name) =>
    name.startsWith("@") ? readNames(join(place, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  const above = dirname(folder);
  return above === folder ? names : [...names, ...installedPackages(above)];
}

function readNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith("."));
  } catch {
    return [];
  }
}

/** A syntax error's stack starts with the place: `/there/coins.ts:3`, or a URL. */
function sourceOf(error: unknown): string | undefined {
  const [first = ""] = (error instanceof Error ? (error.stack ?? "") : "").split("\n");
  const [, place, line] = /^(.*\.[cm]?[jt]s):(\d+)$/.exec(first) ?? [];
  if (place === undefined) return undefined;
  return `${showPath(pathOf(place))}:${line}`;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** `Error: no such table (coins.ts:3:9)`: the error, and the user's line that threw it. */
export function thrown(error: unknown): string {
  const place = error instanceof Error ? userFrame(error) : undefined;
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return place === undefined ? `"${what}"` : `"${what}" (${place})`;
}

/** `coins.ts:3:9`: the first line of the stack outside Node, Troupe and packages. */
export function userFrame({ stack = "" }: Error): string | undefined {
  const places = stack.matchAll(/^ +at (?:.* \()?(?:async )?((?:file:|\/|[A-Z]:\\).*?):(\d+:\d+)\)?$/gm);
  for (const [, place = "", position = ""] of places) {
    const file = pathOf(place);
    if (!ownFolders.some((own) => file.startsWith(own)) && !file.includes("/node_modules/"))
      return `${showPath(file)}:${position}`;
  }
  return undefined;
}

/** This file is in `src/` or `dist/`, next to which is `bin/`. */
const sources = join(import.meta.dirname, "..", "..");
const ownFolders = [sources, join(sources, "..", "bin")].map((folder) => join(folder, sep));

/** Of a path or a file's URL. */
export function pathOf(place: string): string {
  return place.startsWith("file:") ? fileURLToPath(place) : place;
}

/** Imports point down the list of folders in AGENTS.md, and engines are used only through their interface. */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = ["src", "bench", "tests"].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => path.join(folder, file)),
);

interface Import {
  readonly from: string;
  readonly to: string;
}

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(path.join(root, from), "utf8");
  const found = text.matchAll(/^(?:import|export)\b[^;]*?from "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm);
  return [...found].map((match) => ({
    from,
    to: path.join(path.dirname(from), match[1] ?? match[2] ?? ""),
  }));
});

/** The folders of the table in AGENTS.md, highest first. Files directly in `src/` are below all of them. */
const layers = [
  ...readFileSync(path.join(root, "AGENTS.md"), "utf8").matchAll(/^\| `src\/([a-z-]+)\/`/gm),
].map((match) => match[1] ?? "");

function layerOf(file: string): number {
  const [, folder = "", inside] = file.split(path.sep);
  return inside === undefined ? layers.length : layers.indexOf(folder);
}

/** Excluded from the published package by tsconfig.build.json. */
const isForTests = (file: string): boolean =>
  /^tests|\.test\.ts$|(^|\/)testing(\/|\.ts$)|\/test-[^/]*\.ts$/.test(file);

const isInternal = (file: string): boolean => /^src\/engines\/(?!testing\/)[^/]+\/(?!testing\/)/.test(file);

const describe = (found: readonly Import[]): readonly string[] =>
  found.map(({ from, to }) => `${from} imports ${to}`);

it("finds the imports", () => {
  expect(imports).toContainEqual({ from: "src/engines/open.ts", to: "src/engines/engine.ts" });
  expect(imports.length).toBeGreaterThan(files.length);
});

it("AGENTS.md lists every folder of src", () => {
  const folders = readdirSync(path.join(root, "src"), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  expect(layers.toSorted()).toEqual(folders.map(({ name }) => name).toSorted());
});

it("imports point down the layers", () => {
  const inside = imports.filter(({ from }) => from.startsWith("src/") && from !== "src/index.ts");
  expect(describe(inside.filter(({ from, to }) => layerOf(to) < layerOf(from)))).toEqual([]);
});

it("nothing outside src/engines imports an engine's internals", () => {
  const outside = imports.filter(({ from }) => !from.startsWith("src/engines/"));
  expect(describe(outside.filter(({ to }) => isInternal(to)))).toEqual([]);
});

it("what is published imports no part of the tests", () => {
  const published = imports.filter(({ from }) => from.startsWith("src/") && !isForTests(from));
  expect(describe(published.filter(({ to }) => isForTests(to)))).toEqual([]);
});

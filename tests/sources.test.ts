/**
 * What the sources keep to: imports point down the list of folders in AGENTS.md, engines are used only through their
 * interface, and what models, files and services wrote reaches the terminal through src/cli/print.ts, which replaces control
 * characters.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { slowSuites } from "./support/slow-suites.ts";

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

const sources = fileURLToPath(new URL("../src/", import.meta.url));

/** Other places that may write, and what keeps control characters out. */
const allowed: Readonly<Record<string, string>> = {
  "cli/print.ts": "is the place",
  "cli/main.ts": "only listens for errors",
  "cli/play/play.ts": "passes it to askPerson, which uses showLines",
  "cli/runs/remove.ts": "passes it to askPerson, which uses showLines",
  "cli/runs/plot.ts": "curveText uses showText, and colours",
  "cli/data/progress.ts": "showText",
  "environments/command/sandboxed.ts": "JSON of a program of ours, inside the sandbox",
  "logging/process.ts": "writes JSON to the process that started it",
};

const writes = /\bconsole\.\w+\(|\bprocess\.std(?:out|err)\b(?!\.(?:columns|isTTY)\b)/;

const printing = readdirSync(sources, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !/\.test\.ts$|(^|\/)testing\/|(^|\/)fixtures\//.test(file))
  .map((file) => file.split(path.sep).join("/"));

function writers(): string[] {
  return printing.filter((file) =>
    writes.test(withoutComments(readFileSync(path.join(sources, file), "utf8"))),
  );
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
}

it("nothing else writes to the terminal", () => {
  expect(writers().filter((file) => !(file in allowed))).toEqual([]);
});

it("and the exceptions still write", () => {
  expect(Object.keys(allowed).filter((file) => !writers().includes(file))).toEqual([]);
});

it("no message spells a command itself, which would miss how the program was called", () => {
  const spelt = /["`(]\\?`?troupe (?!COMMAND|complet)[a-z]+[ \\`]/;
  // A page of docs is not printed by a program that someone called.
  const found = printing
    .filter((file) => file !== "cli/reference.ts")
    .flatMap((file) =>
      readFileSync(path.join(sources, file), "utf8")
        .split("\n")
        .filter((line) => spelt.test(line) && !/^\s*(\/?\*|\/\/)/.test(line))
        .filter((line) => !/describe\(|help = /.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
  expect(found).toEqual([]);
});

it("every slow suite has its place for a run that has too little time for all", () => {
  const slow = files.filter((file) => file.endsWith(".slow.test.ts"));
  expect([...slowSuites].toSorted()).toEqual(slow.toSorted());
});

it("tests and the engine on PyTorch have the same versions of packages", () => {
  const installed = readFileSync(path.join(root, "src/engines/torch/install.ts"), "utf8");
  const tested = readFileSync(path.join(root, "tests/python/requirements.in"), "utf8");
  for (const name of ["torch", "transformers", "safetensors", "bitsandbytes"]) {
    const pin = new RegExp(`"(${name}==[^"]+)"`).exec(installed)?.[1] ?? `${name} is not pinned`;
    expect(tested.split("\n")).toContain(pin);
  }
});

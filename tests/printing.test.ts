/** What models, files and services wrote reaches the terminal through src/cli/print.ts, which replaces control characters. */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../src/", import.meta.url));

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

const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !/\.test\.ts$|(^|\/)testing\/|(^|\/)fixtures\//.test(file))
  .map((file) => file.split(path.sep).join("/"));

function writers(): string[] {
  return files.filter((file) => writes.test(withoutComments(readFileSync(path.join(root, file), "utf8"))));
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
  const found = files
    .filter((file) => file !== "cli/reference.ts")
    .flatMap((file) =>
      readFileSync(path.join(root, file), "utf8")
        .split("\n")
        .filter((line) => spelt.test(line) && !/^\s*(\/?\*|\/\/)/.test(line))
        .filter((line) => !/describe\(|help = /.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
  expect(found).toEqual([]);
});

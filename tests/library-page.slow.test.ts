/** Compiles and runs the programs of docs/library.md, examples/tinker and examples/parity, in a user's project with the packed package. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServing } from "../src/engines/testing/serving.ts";
import { initModel } from "../src/models/init.ts";
import { presets } from "../src/models/presets.ts";
import { writeByteTokenizer } from "../src/text/byte-tokenizer.ts";

const root = path.join(import.meta.dirname, "..");
// As on many desktops.
const folder = mkdtempSync(path.join(tmpdir(), "troupe-library-page-"));
const project = path.join(folder, "Eigene Übungen");
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(() => {
  for (const example of ["translation", "tinker", "parity"])
    cpSync(path.join(root, "examples", example), project, { recursive: true });
  const page = readFileSync(path.join(root, "docs", "library.md"), "utf8");
  const programs = /```(?:ts|yaml)\n((?:\/\/|#) (\w+\.(?:ts|yaml))\n.*?)```/gs;
  for (const [, text = "", name = ""] of page.matchAll(programs))
    writeFileSync(path.join(project, name), text);
  writeFileSync(path.join(project, "package.json"), '{ "type": "module" }\n');
  install();
}, 600_000);

/** What `npm install troupe-*.tgz` does, with this checkout's dependencies and compiled engine. */
function install(): void {
  const pack = ["pack", "--silent", "--pack-destination", folder];
  execFileSync("npm", pack, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  const installed = path.join(project, "node_modules", "troupe");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", path.join(folder, tarball), "-C", installed, "--strip-components=1"]);
  symlinkSync(path.join(root, "native", "build"), path.join(installed, "native", "build"));
  for (const name of readdirSync(path.join(root, "node_modules")))
    symlinkSync(path.join(root, "node_modules", name), path.join(project, "node_modules", name));
}

function run(name: string, environment: Readonly<Record<string, string>> = {}): string[] {
  const env = { ...process.env, ...environment };
  const { stdout, stderr, status } = spawnSync(process.execPath, [name], {
    cwd: project,
    encoding: "utf8",
    env,
  });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.split(" ")[0] ?? "");
}

it("compiles in a strict project", { timeout: 300_000 }, () => {
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    module: "nodenext",
    target: "esnext",
    allowImportingTsExtensions: true,
    types: ["node"],
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
  };
  const files = readdirSync(project).filter((name) => name.endsWith(".ts"));
  writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: strict, files }));
  const compiler = path.join(root, "node_modules/typescript/bin/tsc");
  const { stdout, status } = spawnSync(process.execPath, [compiler, "-p", "."], {
    cwd: project,
    encoding: "utf8",
  });
  expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
  expect(files).toEqual(
    expect.arrayContaining(["train.ts", "all.ts", "sample.ts", "tinker.ts", "translation.ts"]),
  );
});

it("trains, stops and resumes, evaluates, then samples with the weights", { timeout: 300_000 }, () => {
  const losses = expect.stringMatching(/^\[[-\d.]+,[-\d.]+/) as string;
  const episodes = ["train/1/0", "train/1/1", "train/1/2", "train/1/3"];
  expect(run("train.ts")).toEqual([
    "1",
    "2",
    "interrupted",
    expect.stringMatching(/^[012]$/),
    losses,
    ...episodes,
  ]);
  expect(run("train.ts").slice(0, 3)).toEqual(["3", "4", "finished"]);
  expect(run("sample.ts").toSorted()).toEqual([
    ...Array<string>(4).fill("drafter"),
    ...Array<string>(4).fill("editor"),
  ]);
});

it("trains with an environment, algorithm, judge, engine and logger of its own", { timeout: 300_000 }, () => {
  expect(run("all.ts")).toEqual(["step", "step", "finished"]);
  const check = ["node_modules/troupe/bin/troupe.js", "check", "./parity.ts"];
  const { stdout, status } = spawnSync(process.execPath, check, { cwd: project, encoding: "utf8" });
  expect({ stdout, status }).toMatchObject({ status: 0 });
});

it("needs at most 25 lines for each of them", () => {
  const page = readFileSync(path.join(root, "docs", "writing-an-environment.md"), "utf8");
  const example = path.join(root, "examples", "parity");
  const names = readdirSync(example).filter((name) => name.endsWith(".ts"));
  expect(names).toEqual(["all.ts", "best.ts", "brief.ts", "counting.ts", "parity.ts"]);
  for (const name of names) {
    const program = readFileSync(path.join(example, name), "utf8");
    expect(program.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(25);
    expect(page).toContain(name === "parity.ts" ? `\`\`\`ts\n${program}` : `(../examples/parity/${name})`);
  }
});

it("trains with the protocol's client alone", { timeout: 300_000 }, async () => {
  const [tokenizer, directory] = [path.join(folder, "tokenizer"), path.join(folder, "nano")];
  writeByteTokenizer(tokenizer);
  await initModel({ directory, preset: presets.nano, tokenizer, seed: 1 });
  const serving = await startServing([directory]);
  const saved = expect.stringMatching(/^tinker:\/\/.+\/weights\/writer-3-/) as string;
  try {
    expect(run("tinker.ts", { TINKER_BASE_URL: serving.url })).toEqual(["1", "2", "3", saved]);
  } finally {
    await serving.stop();
  }
});

/**
 * `npm run mutants`: how many small faults in the sources the quick tests find. A sample of faults is drawn, all are
 * written into a copy of the checkout, none active, and the tests run once to learn which of them reach which fault. Then one
 * fault at a time is active, and the tests that reach it run until one fails: the nearest first, then the shortest. What
 * was tried stands in `--folder`, and the same command resumes there. With `--known FOLDER`, of an earlier run, the test
 * that found a fault there is the first to be tried.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { drawn, faultsOf, withFaults, type Fault } from "./faults.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    sample: { type: "string", default: "300" },
    /** Tests that take longer than that together, for one fault, are not tried. */
    seconds: { type: "string", default: "60" },
    workers: { type: "string", default: "2" },
    folder: { type: "string" },
    known: { type: "string" },
  },
});

/** What decides rewards, credit, what is trained and what is kept. */
const areas = [
  "src/calls",
  "src/credit",
  "src/environments/code/grading",
  "src/environments/math/answers",
  "src/gateway",
  "src/judges",
  "src/recipes/validation",
  "src/rollout",
  "src/runs",
  "src/train",
];

interface Numbered extends Fault {
  readonly number: number;
  readonly area: string;
}

/** What became of a fault: the test file that found it, or null; `left` files that reach it had no time. */
interface Outcome {
  readonly name: string;
  readonly foundBy: string | null;
  readonly tried: number;
  readonly left: number;
}

interface Reached {
  /** Seconds that each test file takes; those that fail without a fault are not in it. */
  readonly seconds: Record<string, number>;
  /** Names of faults → the test files that reach them. */
  readonly files: Record<string, string[]>;
}

const checkout = path.join(import.meta.dirname, "..", "..");
const folder = path.resolve(values.folder ?? path.join(checkout, ".mutants", `seed-${values.seed}`));
mkdirSync(folder, { recursive: true });
const git = (...args: string[]): string[] =>
  execFileSync("git", ["-C", checkout, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 })
    .split("\0")
    .filter(Boolean);
const checkoutFiles = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").filter((file) =>
  existsSync(path.join(checkout, file)),
);
keepApart();
const faults = sample();
const trees = Array.from({ length: Number(values.workers) }, (_, index) => tree(index));
const reached = await whoReaches();
const known =
  values.known === undefined ? new Map<string, Outcome>() : outcomesOf(path.resolve(values.known));
const outcomes = outcomesOf(folder);
let position = 0;
await Promise.all(
  trees.map(async (copy) => {
    for (let fault = next(); fault; fault = next()) await decide(fault, copy);
  }),
);
report();

/** What was found out counts for these sources, these tests and this sample only. */
function keepApart(): void {
  const digest = createHash("sha256").update(`${values.seed} ${values.sample}`);
  for (const file of checkoutFiles)
    digest.update(`\0${file}\0`).update(readFileSync(path.join(checkout, file)));
  const state = digest.digest("hex");
  const stateFile = path.join(folder, "state");
  if (existsSync(stateFile) && readFileSync(stateFile, "utf8") !== state)
    throw new Error(`${folder} is of other sources or another sample: --folder NEW --known ${folder}`);
  writeFileSync(stateFile, state);
}

/** What an outcome is kept by. */
function nameOf(fault: Numbered): string {
  return `${fault.file} ${fault.kind}: ${fault.original} #${fault.line}`;
}

/** As many faults from each area, so that the largest does not hide the others. */
function sample(): Numbered[] {
  const each = Math.ceil(Number(values.sample) / areas.length);
  const chosen = areas.flatMap((area) => {
    const sources = checkoutFiles.filter(
      (file) =>
        file.startsWith(`${area}/`) &&
        /(?<!\.d|\.test)\.ts$/u.test(file) &&
        !/\/(?:testing|fixtures)\//u.test(file),
    );
    const all = sources.flatMap((file) => faultsOf(file, readFileSync(path.join(checkout, file), "utf8")));
    return drawn(all, Number(values.seed), each).map((fault) => ({ ...fault, area }));
  });
  return chosen.map((fault, number) => ({ ...fault, number }));
}

/** A copy of the checkout whose sources have every fault. */
function tree(index: number): string {
  const copy = path.join(folder, `tree-${index}`);
  rmSync(copy, { recursive: true, force: true });
  for (const file of checkoutFiles) cpSync(path.join(checkout, file), path.join(copy, file));
  cpSync(path.join(checkout, "native", "build"), path.join(copy, "native", "build"), { recursive: true });
  symlinkSync(path.join(checkout, "node_modules"), path.join(copy, "node_modules"));
  for (const file of new Set(faults.map((fault) => fault.file))) {
    const own = faults.filter((fault) => fault.file === file);
    const source = readFileSync(path.join(checkout, file), "utf8");
    writeFileSync(path.join(copy, file), withFaults(source, own, "tests/mutants/active.ts"));
  }
  activate(copy, -1);
  // Processes that a test starts inherit its name.
  appendFileSync(
    path.join(copy, "tests", "support", "end-of-file.ts"),
    'process.env["TROUPE_TEST_FILE"] = (globalThis as any).__vitest_worker__.filepath;\n',
  );
  return copy;
}

function activate(copy: string, number: number): void {
  writeFileSync(path.join(copy, "tests", "mutants", "active"), String(number));
}

async function whoReaches(): Promise<Reached> {
  const file = path.join(folder, "reached.json");
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as Reached;
  console.log(`${faults.length} faults; all quick tests run once, without any …`);
  const record = path.join(folder, "reached.txt");
  writeFileSync(record, "");
  const [copy] = trees as [string];
  const results = await tests(copy, [], 7200, { TROUPE_FAULTS_REACHED: record });
  // Otherwise no fault would be reached, and every one would count as not found.
  if (results.files.length === 0) throw new Error(`the quick tests of ${copy} did not run to their end`);
  const seconds: Record<string, number> = {};
  for (const result of results.files)
    if (!result.hasFailed) seconds[result.file] = result.seconds;
    else console.log(`fails without a fault, so it finds none: ${result.file}`);
  const lines = readFileSync(record, "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("\t"));
  const found: Record<string, string[]> = {};
  for (const fault of faults) {
    const by = lines
      .filter(([number]) => Number(number) === fault.number)
      .map(([, test]) => path.relative(copy, test ?? ""));
    found[nameOf(fault)] = [...new Set(by)].filter((test) => test in seconds);
  }
  const answer = { seconds, files: found };
  writeFileSync(file, JSON.stringify(answer));
  return answer;
}

function next(): Numbered | undefined {
  while (position < faults.length) {
    const fault = faults[position++] as Numbered;
    if (!outcomes.has(nameOf(fault))) return fault;
  }
  return undefined;
}

async function decide(fault: Numbered, copy: string): Promise<void> {
  activate(copy, fault.number);
  const [first, ...rest] = inOrder(fault);
  let foundBy = first === undefined ? null : await finder(copy, [first]);
  let tried = first === undefined ? 0 : 1;
  let left = 0;
  if (foundBy === null && rest.length > 0) {
    let seconds = 0;
    const affordable = rest.filter((file) => (seconds += secondsOf(file)) <= Number(values.seconds));
    left = rest.length - affordable.length;
    tried += affordable.length;
    if (affordable.length > 0) foundBy = await finder(copy, affordable);
  }
  const outcome = { name: nameOf(fault), foundBy, tried, left };
  outcomes.set(outcome.name, outcome);
  appendFileSync(path.join(folder, "outcomes.jsonl"), `${JSON.stringify(outcome)}\n`);
  const verdict = foundBy === null ? `NOT FOUND (${tried} tried, ${left} left)` : `found by ${foundBy}`;
  console.log(`${outcomes.size}/${faults.length} ${fault.file}:${fault.line} ${fault.kind}: ${verdict}`);
}

function secondsOf(file: string): number {
  return 1 + (reached.seconds[file] ?? 0);
}

/** The test that found it before, tests beside the source, then the others; among equals the shortest first. */
function inOrder(fault: Numbered): string[] {
  const own = fault.file.replace(/\.ts$/u, ".test.ts");
  const distance = (file: string): number => {
    if (file === known.get(nameOf(fault))?.foundBy) return 0;
    if (file === own) return 1;
    return path.dirname(file) === path.dirname(fault.file) ? 2 : 3;
  };
  return (reached.files[nameOf(fault)] ?? []).toSorted(
    (a, b) => distance(a) - distance(b) || secondsOf(a) - secondsOf(b),
  );
}

/** The first of `files` that fails; a run that does not end counts, too, as the tests would never pass. */
async function finder(copy: string, files: readonly string[]): Promise<string | null> {
  const limit = 120 + 6 * files.reduce((sum, file) => sum + secondsOf(file), 0);
  const result = await tests(copy, files, limit);
  if (result.isEnded && result.exit === 0) return null;
  return result.files.find((each) => each.hasFailed)?.file ?? files[0] ?? null;
}

interface Results {
  readonly exit: number | null;
  readonly isEnded: boolean;
  readonly files: readonly { file: string; hasFailed: boolean; seconds: number }[];
}

/** Runs quick tests of `copy`: `files`, or all. */
async function tests(
  copy: string,
  files: readonly string[],
  limit: number,
  environment: Record<string, string> = {},
): Promise<Results> {
  const output = path.join(copy, "results.json");
  rmSync(output, { force: true });
  const some = ["--bail=1", "--maxWorkers=1", ...files];
  const child = spawn(
    process.execPath,
    [
      "node_modules/vitest/vitest.mjs",
      "run",
      "--configLoader=runner",
      "--project",
      "quick",
      "--project",
      "apart",
      "--reporter=json",
      `--outputFile=${output}`,
      ...(files.length > 0 ? some : []),
    ],
    { cwd: copy, stdio: "ignore", detached: true, env: { ...process.env, ...environment } },
  );
  let isEnded = true;
  const timer = setTimeout(() => {
    isEnded = false;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, limit * 1000);
  const exit = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearTimeout(timer);
  if (!existsSync(output)) return { exit, isEnded, files: [] };
  const { testResults } = JSON.parse(readFileSync(output, "utf8")) as {
    testResults: { name: string; status: string; startTime: number; endTime: number }[];
  };
  return {
    exit,
    isEnded,
    files: testResults.map((result) => ({
      file: path.relative(copy, result.name),
      hasFailed: result.status === "failed",
      seconds: (result.endTime - result.startTime) / 1000,
    })),
  };
}

function outcomesOf(of: string): Map<string, Outcome> {
  const file = path.join(of, "outcomes.jsonl");
  if (!existsSync(file)) return new Map();
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return new Map(lines.map((line) => JSON.parse(line) as Outcome).map((outcome) => [outcome.name, outcome]));
}

function report(): void {
  const rows = areas.map((area) => {
    const own = faults.filter((fault) => fault.area === area).map((fault) => outcomes.get(nameOf(fault)));
    return { area, faults: own.length, found: own.filter((outcome) => outcome?.foundBy !== null).length };
  });
  for (const row of rows) console.log(`${row.area.padEnd(32)} ${row.found} of ${row.faults}`);
  const total = (key: "faults" | "found"): number => rows.reduce((sum, row) => sum + row[key], 0);
  console.log(`${"all".padEnd(32)} ${total("found")} of ${total("faults")}`);
  const missed = faults
    .filter((fault) => outcomes.get(nameOf(fault))?.foundBy === null)
    .map(({ file, line, kind, original }) => ({ file, line, kind, original }));
  const summary = { seed: Number(values.seed), seconds: Number(values.seconds), areas: rows, missed };
  writeFileSync(path.join(folder, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
}

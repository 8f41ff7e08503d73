/** Commands whose results are known, so that a change can be seen: each crosses some borders. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { keyAt, rootKey, generatorOf } from "../../src/random.ts";
import { killAll, type Disturbance } from "./disturb.ts";
import type { Observation, ResultLine } from "./oracle.ts";

/** A checkout whose command is disturbed. Usually this one. */
export const checkout = path.join(import.meta.dirname, "..", "..");

export interface Place {
  /** An empty folder. */
  readonly folder: string;
  readonly checkout: string;
}

export interface Subject {
  readonly name: string;
  /** Whether each result stands for itself; otherwise later ones depend on earlier ones. */
  readonly linesAreIndependent?: boolean;
  /** What the screen must say if something fails. */
  readonly named: RegExp;
  readonly run: (
    place: Place,
    disturbance: Disturbance,
    seed: number,
  ) => Promise<Observation & { readonly acts: number }>;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** How often the disturbance acted. */
  readonly acts: number;
}

const longestRun = 240_000;

/** Runs `troupe` with these arguments, disturbed. */
async function troupe(
  given: readonly string[],
  { folder, checkout }: Place,
  disturbance: Disturbance,
  seed: number,
): Promise<Ended> {
  const { within = [], env = {}, during } = disturbance;
  const [program = "", ...rest] = [
    ...within,
    process.execPath,
    path.join(checkout, "bin", "troupe.js"),
    ...given,
  ];
  const child = spawn(program, rest, {
    cwd: folder,
    env: { ...ownEnvironment(), TROUPE_CACHE: path.join(folder, "cache"), ...env },
    stdio: ["ignore", "pipe", "pipe"] as const,
  });
  const ended = new AbortController();
  const acting = during?.(child.pid ?? -1, generatorOf(keyAt(rootKey(seed), disturbance.name)), ended.signal);
  const late = setTimeout(() => killAll(child), longestRun);
  const code = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const result = await code;
  clearTimeout(late);
  ended.abort();
  return { code: result, stdout, stderr, acts: (await acting) ?? 1 };
}

function ownEnvironment(): NodeJS.ProcessEnv {
  const given = Object.entries(process.env);
  return Object.fromEntries(
    given.filter(([name]) => !/^(npm_|VITEST|FORCE_COLOR|NODE_ENV|NODE_OPTIONS)/.test(name)),
  );
}

/** Results of `troupe score`: a line for each input, or an error in its place. */
async function scored(given: readonly string[], place: Place, disturbance: Disturbance, seed: number) {
  const { code, stdout, stderr, acts } = await troupe(["score", ...given], place, disturbance, seed);
  const lines = stdout.split("\n").filter((line) => line !== "");
  const numbers = lines.map((line): ResultLine => ({
    text: line,
    failures: "error" in (JSON.parse(line) as object) ? 1 : 0,
  }));
  // Errors are printed in place of the results.
  const errors = lines.filter((line) => line.includes('"error"')).join("\n");
  return { code, numbers, screen: `${stderr}\n${errors}`, acts };
}

const jsonLines = (values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

/** Each works for a tenth of a second, so that there is time to disturb it. */
const busy = "    for _ in range(2_000_000): pass\n";
const programs: readonly string[] = [
  `def add(a, b):\n${busy}    return a + b\n`,
  `def add(a, b):\n${busy}    return a - b\n`,
  `def add(a, b):\n${busy}    raise ValueError("no")\n`,
  `import os\ndef add(a, b):\n${busy}    os._exit(0)\n`,
  `def add(a, b):\n${busy}    return [a + b][0]\n`,
  "def add(a, b)\n    return a + b\n",
];

const functions = Array.from({ length: 4 }, (_, index) => ({
  task_id: `chaos/${index}`,
  prompt: `def add(a, b):\n    """Add two numbers."""\n`,
  entry_point: "add",
  canonical_solution: "    return a + b\n",
  test: `def check(candidate):\n    assert candidate(1, ${index}) == ${1 + index}\n    assert candidate(2, 2) == 4\n`,
}));

export const functionGrader: Subject = {
  name: "functions graded in the sandbox",
  linesAreIndependent: true,
  named: /sandbox|backend|worker/i,
  async run(place, disturbance, seed) {
    const at = (name: string): string => path.join(place.folder, name);
    await writeFile(at("functions.jsonl"), jsonLines(functions));
    const lines = Array.from({ length: 24 }, (_, index) => ({
      task: index % 2,
      actions: [{ single: programs[index % programs.length] }],
    }));
    await writeFile(at("lines.jsonl"), jsonLines(lines));
    const dataset = JSON.stringify({ files: { test: at("functions.jsonl") }, form: "humaneval" });
    const splits = JSON.stringify({ train: "test[:2]", heldOut: "test[2:]" });
    const given = [`environment.dataset=${dataset}`, `environment.splits=${splits}`, "--jobs", "4"];
    return scored(["code", at("lines.jsonl"), ...given], place, disturbance, seed);
  },
};

/** Comparing these takes a while: right, wrong, and one that no comparison ends by itself. */
const answers: readonly ((index: number) => string)[] = [
  (index) => `a^3+b^3+c^3+3(a+b)(b+c)(c+a)+${index}`,
  (index) => `(a+b+c)(a+b+c)^2+${index}`,
  (index) => `a^3+b^3+c^3+4(a+b)(b+c)(c+a)+${index}`,
  (index) => `(c+b+a)^3+${index + 1}`,
  () => "9^{9^{9^9}}",
];

export const comparisons: Subject = {
  name: "answers compared in threads",
  linesAreIndependent: true,
  named: /compar/i,
  async run(place, disturbance, seed) {
    const at = (name: string): string => path.join(place.folder, name);
    const tasks = Array.from({ length: 60 }, (_, index) => ({
      text: `Expand problem ${index}.`,
      result: `(a+b+c)^3+${index}`,
    }));
    await writeFile(at("math.jsonl"), jsonLines([...tasks, { text: "Another.", result: "7" }]));
    const lines = tasks.flatMap((_, task) =>
      answers.map((answer) => ({ task, actions: [{ reasoner: `\\boxed{${answer(task)}}` }] })),
    );
    await writeFile(at("lines.jsonl"), jsonLines(lines));
    const dataset = JSON.stringify({
      files: { train: at("math.jsonl") },
      fields: { prompt: "text", answer: "result" },
    });
    const splits = JSON.stringify({ heldOut: `train[:${tasks.length}]`, train: `train[${tasks.length}:]` });
    const given = [`environment.dataset=${dataset}`, `environment.splits=${splits}`];
    return scored(["math", at("lines.jsonl"), ...given], place, disturbance, seed);
  },
};

/** A training of a module's environment. Its numbers: every step, evaluation, stored reward, and the final weights. */
export async function trained(recipe: string, place: Place, disturbance: Disturbance, seed: number) {
  await writeFile(path.join(place.folder, "chaos.yaml"), recipe);
  const ended = await troupe(["train", "chaos.yaml", "--run", "run"], place, disturbance, seed);
  const run = path.join(place.folder, "runs", "run");
  const screen = `${ended.stdout}\n${ended.stderr}`;
  return { code: ended.code, numbers: await resultsIn(run), screen, acts: ended.acts };
}

async function resultsIn(run: string): Promise<ResultLine[]> {
  const [steps, evaluations] = await Promise.all([
    linesOf(run, "metrics.jsonl"),
    linesOf(run, "evaluations.jsonl"),
  ]);
  const numbered = [...steps, ...evaluations].map((line) => {
    const record = JSON.parse(line) as Record<string, unknown>;
    return { text: JSON.stringify(record, withoutServices), failures: failuresIn(record) };
  });
  const failures = numbered.reduce((sum, line) => sum + line.failures, 0);
  return [...numbered, ...(await weightsIn(run)).map((line) => ({ text: line, failures }))];
}

async function linesOf(run: string, file: string): Promise<string[]> {
  const name = path.join(run, file);
  return existsSync(name)
    ? (await readFile(name, "utf8"))
        .trim()
        .split("\n")
        .filter((line) => line !== "")
    : [];
}

/** How often services were asked is no result. */
function withoutServices(key: string, value: unknown): unknown {
  return key === "services" ? undefined : value;
}

/** Wherever a record counts them. */
function failuresIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce((sum, [key, one]) => {
    const isCount = typeof one === "number" && /^(failed|failures|faults|unjudged)$/.test(key);
    return sum + (isCount ? one : failuresIn(one));
  }, 0);
}

/** Only of a run that has ended: the last checkpoint of one that stopped is an earlier step's. */
async function weightsIn(run: string): Promise<string[]> {
  const folder = path.join(run, "checkpoints");
  if (!existsSync(path.join(run, "result.json"))) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".safetensors"));
  const names = files.map(({ parentPath, name }) => path.join(parentPath, name)).toSorted();
  return Promise.all(
    names.map(
      async (name) =>
        `${path.relative(folder, name)} ${createHash("sha256")
          .update(await readFile(name))
          .digest("hex")}`,
    ),
  );
}

export async function emptied(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  return folder;
}

/** Commands whose results are known, so that a change can be seen: each crosses some borders. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { coloursModule } from "../../src/cli/testing/colours.ts";
import { startServing } from "../../src/engines/testing/serving.ts";
import { startProxy, type ProxyOptions } from "../../src/engines/tinker/testing/faulty-proxy.ts";
import {
  coachServer,
  quotedIn,
  writtenIn,
  type CoachServer,
} from "../../src/judges/coach/testing/coach-server.ts";
import { initModel } from "../../src/models/init.ts";
import { presets } from "../../src/models/presets.ts";
import { writeByteTokenizer } from "../../src/text/byte-tokenizer.ts";
import { writeWordTokenizer } from "../../src/text/word-tokenizer.ts";
import { tinyRecipe, wordsOf } from "../../src/train/testing/tiny-recipe.ts";
import { keyAt, rootKey, generatorOf } from "../../src/random.ts";
import { killAll, undisturbed, type Disturbance } from "./disturb.ts";
import type { Observation, Result } from "./oracle.ts";

/** A checkout whose command is disturbed. Usually this one. */
export const checkout = path.join(import.meta.dirname, "..", "..");

export interface Place {
  /** An empty folder. */
  readonly folder: string;
  readonly checkout: string;
}

export interface Subject {
  readonly name: string;
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

/** Runs a file of the checkout, `bin/troupe.js` for example, disturbed. */
async function run(
  given: readonly string[],
  { folder, checkout }: Place,
  disturbance: Disturbance,
  seed: number,
): Promise<Ended> {
  const { within = [], env = {}, during } = disturbance;
  const [file = "", ...rest] = given;
  const [program = "", ...all] = [...within, process.execPath, path.join(checkout, file), ...rest];
  const child = spawn(program, all, {
    cwd: folder,
    env: { ...ownEnvironment(), TROUPE_CACHE: path.join(folder, "cache"), CHAOS_KEY: "sk-chaos-key", ...env },
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
  return { code: result, stdout, stderr, acts: (await acting) ?? 0 };
}

/** A command that was killed is given again, until it ends by itself. */
async function untilEnded(
  given: readonly string[],
  place: Place,
  disturbance: Disturbance,
  seed: number,
): Promise<Ended> {
  let acts = 0;
  for (let attempt = 0; ; attempt++) {
    const ended = await run(given, place, attempt < 3 ? disturbance : undisturbed, seed + attempt);
    acts += ended.acts;
    if (ended.code !== null || !disturbance.resumes) return { ...ended, acts };
  }
}

function ownEnvironment(): NodeJS.ProcessEnv {
  const given = Object.entries(process.env);
  return Object.fromEntries(
    given.filter(([name]) => !/^(npm_|VITEST|FORCE_COLOR|NODE_ENV|NODE_OPTIONS)/.test(name)),
  );
}

/** Results of `troupe score`: a line for each input, or an error in its place. */
async function scored(given: readonly string[], place: Place, disturbance: Disturbance, seed: number) {
  const command = ["bin/troupe.js", "score", ...given];
  const { code, stdout, stderr, acts } = await run(command, place, disturbance, seed);
  const lines = stdout.split("\n").filter((line) => line !== "");
  const results = lines.map((line, index): Result => {
    return { key: `line ${index}`, text: line, failures: "error" in (JSON.parse(line) as object) ? 1 : 0 };
  });
  const errors = lines.filter((line) => line.startsWith('{"error"'));
  return { code, results, screen: [stderr, ...errors].join("\n"), acts };
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

/** Each with a question of its own. */
const functions = Array.from({ length: 14 }, (_, index) => ({
  task_id: `chaos/${index}`,
  prompt: `def add(a, b):\n    """Add two numbers, example ${index}."""\n`,
  entry_point: "add",
  canonical_solution: "    return a + b\n",
  test: `def check(candidate):\n    assert candidate(1, ${index}) == ${1 + index}\n    assert candidate(2, 2) == 4\n`,
}));

export const functionGrader: Subject = {
  name: "functions graded in the sandbox",
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
    const splits = JSON.stringify({ train: "test[2:]", heldOut: "test[:2]" });
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

/** A training in the folder `run` below `runs`. Its numbers: every step, evaluation, stored reward, and the final weights. */
async function trained(given: readonly string[], place: Place, disturbance: Disturbance, seed: number) {
  const { code, stdout, stderr, acts } = await untilEnded(given, place, disturbance, seed);
  const results = await resultsIn(path.join(place.folder, "run"));
  return { code, results, screen: `${stdout}\n${stderr}`, acts };
}

async function trainedByRecipe(
  recipe: string,
  place: Place,
  disturbance: Disturbance,
  seed: number,
  engine = "engine: { threads: 1 }",
) {
  await writeFile(path.join(place.folder, "chaos.yaml"), `${recipe}${failures}${engine}\n`);
  return trained(
    ["bin/troupe.js", "train", "chaos.yaml", "--run", "run", "--runs", "."],
    place,
    disturbance,
    seed,
  );
}

const failures = "failures: { retries: 3, firstDelay: 0.02, longestDelay: 0.1, limit: 0.5 }\n";

/** With a proxy in front of a service. */
async function behindProxy<T extends { readonly acts: number }>(
  target: string,
  { fault }: Disturbance,
  seed: number,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const disturbing: ProxyOptions["fault"] = (at, index) =>
    fault?.(generatorOf(keyAt(rootKey(seed), at, index))) ?? null;
  const proxy = await startProxy({ target, fault: disturbing });
  try {
    const result = await work(proxy.url);
    return { ...result, acts: result.acts + proxy.faults() };
  } finally {
    proxy.close();
  }
}

const colours = `name: colours
environment: { module: ./colours.ts }
team: { roles: { speaker: { policy: speaker } }, turns: 1, phases: [[speaker]] }
policies: { speaker: { model: { preset: nano } } }
algorithm: { name: at-grpo, samples: 4 }
train: { steps: 4, tasksPerStep: 4, learningRate: 0.003 }
evaluation: { tasks: 3 }
checkpoint: { every: 1 }
`;

const honest: CoachServer["answer"] = (question) => {
  const isRight = writtenIn(question).startsWith(quotedIn(question.user, "reference")[0] ?? "none");
  return { reason: "as asked", blame: isRight ? "none" : "speaker", score: isRight ? 9 : 2 };
};

const judged = (judge: string) => async (place: Place, disturbance: Disturbance, seed: number) => {
  await writeFile(path.join(place.folder, "colours.ts"), coloursModule);
  return trainedByRecipe(`${colours}judge: ${judge}\n`, place, disturbance, seed);
};

export const coach: Subject = {
  name: "a coach",
  named: /coach/i,
  async run(place, disturbance, seed) {
    await using server = await coachServer(honest);
    return await behindProxy(new URL(server.address).origin, disturbance, seed, (url) => {
      const options = {
        name: "coach",
        provider: "compatible",
        model: "tiny",
        baseUrl: `${url}/v1`,
        truth: "visible",
        breaker: { failures: 4, pauseSeconds: 1, pauses: 1 },
      };
      return judged(
        JSON.stringify({ ...options, keyVariable: "CHAOS_KEY", concurrency: 1, timeoutSeconds: 5 }),
      )(place, disturbance, seed);
    });
  },
};

export const judgeProgram: Subject = {
  name: "a judge program",
  named: /judge/i,
  run(place, disturbance, seed) {
    const program = path.join(import.meta.dirname, "judge.ts");
    const options = {
      name: "command",
      run: [process.execPath, program, disturbance.habit ?? "none"],
      batch: 4,
      timeoutSeconds: 5,
    };
    return judged(JSON.stringify(options))(place, disturbance, seed);
  },
};

/** In the directory of the run, a model that reads and writes bytes. */
async function byteModel(folder: string): Promise<string> {
  const [tokenizer, directory] = [path.join(folder, "tokenizer"), path.join(folder, "model")];
  writeByteTokenizer(tokenizer);
  await initModel({ directory, preset: "nano", tokenizer, seed: 1, maxLength: 8192 });
  return directory;
}

const toolsProgram = "tests/support/tools-process.ts";
const towns = path.join(import.meta.dirname, "town-server.ts");

export const mcpProgram: Subject = {
  name: "an MCP server's program",
  named: /MCP|tool/i,
  async run(place, disturbance, seed) {
    const command = [process.execPath, towns, disturbance.habit ?? "none"];
    const tool = JSON.stringify({ name: "mcp", command, seconds: 5 });
    return trained([toolsProgram, "0", await byteModel(place.folder), tool], place, disturbance, seed);
  },
};

export const mcpAddress: Subject = {
  name: "an MCP server's address",
  named: /MCP|tool/i,
  async run(place, disturbance, seed) {
    const server = spawn(process.execPath, [towns, disturbance.habit ?? "none", "http"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [port] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
    const model = await byteModel(place.folder);
    try {
      return await behindProxy(`http://127.0.0.1:${port}`, disturbance, seed, (url) => {
        const tool = JSON.stringify({ name: "mcp", url: `${url}/mcp`, seconds: 5 });
        return trained([toolsProgram, "0", model, tool], place, disturbance, seed);
      });
    } finally {
      server.kill();
    }
  },
};

/** The expert's edits are in the next turn's prompts, so that without one everything after it is different. */
export const expert: Subject = {
  name: "an expert",
  named: /expert/i,
  async run(place, disturbance, seed) {
    await writeFile(path.join(place.folder, "functions.jsonl"), jsonLines(functions));
    await byteModel(place.folder);
    await using server = await coachServer(({ user }) => ({
      main: `def add(a, b):\n    return ${user.length}\n`,
      aux: "",
    }));
    return await behindProxy(new URL(server.address).origin, disturbance, seed, (url) =>
      trainedByRecipe(expertRecipe(`${url}/v1`), place, disturbance, seed),
    );
  },
};

const expertRecipe = (baseUrl: string): string => `name: expert
environment:
  name: code
  dataset: { files: { test: functions.jsonl }, form: humaneval }
  splits: { train: "test[2:]", heldOut: "test[:2]" }
  feedback: expert_edits
  expert: { provider: compatible, model: wise, baseUrl: "${baseUrl}", keyVariable: CHAOS_KEY }
team: { roles: { helper: { policy: one, maxTokens: 12 }, main: { policy: one, maxTokens: 12 } }, phases: [[helper, main]], turns: 2 }
policies: { one: { model: { path: model } } }
algorithm: { name: magrpo, samples: 2 }
train: { steps: 3, tasksPerStep: 4, learningRate: 0.001 }
evaluation: { tasks: 2 }
checkpoint: { every: 1 }
`;

const tiny = `name: tiny
environment: { name: plan-path, size: 4 }
team: { roles: { scout: { policy: own, prompt: "", maxTokens: 8 }, planner: { policy: own, prompt: "", maxTokens: 8 } }, phases: [[scout], [planner]], turns: 2 }
algorithm: { name: at-grpo, samples: 3 }
warmStart: { steps: 3, demonstrationsPerStep: 4, learningRate: 0.003 }
train: { steps: 6, tasksPerStep: 3, learningRate: 0.001, minibatches: 2 }
evaluation: { tasks: 6, every: 2, tasksDuring: 3 }
checkpoint: { every: 1 }
`;

export const localEngine: Subject = {
  name: "a training on the local engine",
  named: /run|write|disk/i,
  run: (place, disturbance, seed) =>
    trainedByRecipe(`${tiny}policies: { own: { model: { preset: nano } } }\n`, place, disturbance, seed),
};

export const tinkerEngine: Subject = {
  name: "a training on a Tinker server",
  named: /server|engine/i,
  async run(place, disturbance, seed) {
    const [tokenizer, model] = [path.join(place.folder, "words"), path.join(place.folder, "nano")];
    writeWordTokenizer(tokenizer, wordsOf(tinyRecipe()));
    await initModel({ directory: model, preset: presets.nano, tokenizer, seed: 1 });
    const serving = await startServing([model]);
    try {
      return await behindProxy(serving.url, disturbance, seed, (url) => {
        const engine = `engine: { type: tinker, url: "${url}", profile: troupe }`;
        const recipe = `${tiny}policies: { own: { model: { path: nano } } }\n`;
        return trainedByRecipe(recipe, place, disturbance, seed, engine);
      });
    } finally {
      await serving.stop();
    }
  },
};

async function resultsIn(run: string): Promise<Result[]> {
  let failures = 0;
  const results: Result[] = [];
  for (const kind of ["metrics", "evaluations"]) {
    for (const [index, line] of (await linesOf(run, `${kind}.jsonl`)).entries()) {
      const record = JSON.parse(line) as object;
      failures += failuresIn(record);
      results.push({ key: `${kind} ${index}`, text: JSON.stringify(record, withoutServices), failures });
    }
  }
  const weights = await weightsIn(run);
  return [...results, ...weights.map((line, index) => ({ key: `weights ${index}`, text: line, failures }))];
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

/** Commands whose results are known, so that a change can be seen: each crosses some borders. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { coloursModule } from "../../src/cli/testing/colours.ts";
import { startHub } from "../../src/data/testing/hub-server.ts";
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
import { drawInt, generatorOf, keyAt, rootKey } from "../../src/random.ts";
import { writeByteTokenizer } from "../../src/text/byte-tokenizer.ts";
import { writeWordTokenizer } from "../../src/text/word-tokenizer.ts";
import { tinyRecipe, wordsOf } from "../../src/train/testing/tiny-recipe.ts";
import { scored, trained, type Disturbed, type Observed } from "./running.ts";

/** Words of a failure in one line with whose it is: the panel names services that do their work, too. */
const failing = (who: string): RegExp =>
  new RegExp(
    `(${who})[^\\n]*(fail|lost|cannot|did not|no usable|no verdict|reject|status|broke off|accept|killed|ended|damaged|error|no space|stopped)|(fail|lost|cannot|error|killed)[^\\n]*(${who})`,
    "i",
  );

export interface Subject {
  readonly name: string;
  /** What the screen must say if something fails. */
  readonly named: RegExp;
  readonly run: (disturbed: Disturbed) => Promise<Observed>;
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

/** Several candidates for each of the first two problems. */
const graded = (form: string, rows: readonly object[], candidates: readonly string[]) => {
  return async (disturbed: Disturbed): Promise<Observed> => {
    const at = (name: string): string => path.join(disturbed.place.folder, name);
    const lines = Array.from({ length: 24 }, (_, index) => ({
      task: index % 2,
      actions: [{ single: candidates[Math.floor(index / 2) % candidates.length] }],
    }));
    await writeFile(at("rows.jsonl"), jsonLines(rows));
    await writeFile(at("lines.jsonl"), jsonLines(lines));
    const dataset = JSON.stringify({ files: { test: at("rows.jsonl") }, form });
    const splits = JSON.stringify({ train: "test[2:]", heldOut: "test[:2]" });
    const given = [`environment.dataset=${dataset}`, `environment.splits=${splits}`, "--jobs", "4"];
    return scored(["code", at("lines.jsonl"), ...given], disturbed);
  };
};

export const functionGrader: Subject = {
  name: "functions graded in the sandbox",
  named: failing("sandbox|backend|worker"),
  run: graded("humaneval", functions, programs),
};

/** Programs that would keep a worker for minutes: by sleeping, by what they write to whoever grades them. */
export const hostileFunctions: Subject = {
  name: "hostile functions graded in the sandbox",
  named: failing("sandbox|backend|worker"),
  run: graded("humaneval", functions, [
    "def add(a, b):\n    return a + b\n",
    "def add(a, b):\n    return a - b\n",
    "import time\ndef add(a, b):\n    time.sleep(10 ** 6)\n    return a + b\n",
    `class Same:
    def __init__(self, number): self.number = number
    def __hash__(self): return 1
    def __eq__(self, other): return self is other
def add(a, b):
    return {Same(number) for number in range(60_000)}
`,
  ]),
};

const sums = Array.from({ length: 4 }, (_, index) => ({
  problem_id: index,
  question: `Print the sum of the two numbers plus ${index}.`,
  solutions: "",
  input_output: JSON.stringify({
    inputs: ["1 2\n", "40 2\n"],
    outputs: [`${3 + index}\n`, `${42 + index}\n`],
  }),
}));
const work = "for _ in range(2_000_000): pass\n";

/** They read standard input, as in competitions. */
export const programGrader: Subject = {
  name: "programs graded in the sandbox",
  named: failing("sandbox|backend|worker"),
  run: graded("apps", sums, [
    `${work}print(sum(map(int, input().split())))\n`,
    `${work}print(1 + sum(map(int, input().split())))\n`,
    `${work}print(3 if input() == "1 2" else 0)\n`,
    `${work}raise ValueError("no")\n`,
    "print(\n",
  ]),
};

/** Comparing these takes a while: right, wrong, and one that no comparison ends by itself. */
const answers: readonly ((index: number) => string)[] = [
  (index) => `a^3+b^3+c^3+3(a+b)(b+c)(c+a)+${index}`,
  (index) => `(a+b+c)(a+b+c)^2+${index}`,
  (index) => `a^3+b^3+c^3+4(a+b)(b+c)(c+a)+${index}`,
  (index) => `(c+b+a)^3+${index + 1}`,
  () => "9^{9^{9^9}}",
];

const problems = Array.from({ length: 60 }, (_, index) => ({
  text: `Expand problem ${index}.`,
  result: `(a+b+c)^3+${index}`,
}));

/** @param given where the problems are, as overrides */
async function comparedTo(problemCount: number, given: readonly string[], disturbed: Disturbed) {
  const lines = Array.from({ length: problemCount }, (_, task) =>
    answers.map((answer) => ({ task, actions: [{ reasoner: `\\boxed{${answer(task)}}` }] })),
  );
  const file = path.join(disturbed.place.folder, "lines.jsonl");
  await writeFile(file, jsonLines(lines.flat()));
  return scored(["math", file, ...given], disturbed);
}

const mathFields = { prompt: "text", answer: "result" };
const mathSplits = `environment.splits=${JSON.stringify({ heldOut: "train[:60]", train: "train[60:]" })}`;

export const comparisons: Subject = {
  name: "answers compared in processes",
  named: failing("compar"),
  async run(disturbed) {
    const file = path.join(disturbed.place.folder, "math.jsonl");
    await writeFile(file, jsonLines([...problems, { text: "Another.", result: "7" }]));
    const dataset = JSON.stringify({ files: { train: file }, fields: mathFields });
    return comparedTo(60, [`environment.dataset=${dataset}`, mathSplits], disturbed);
  },
};

/** Every problem comes over the network, into an empty cache. */
export const hub: Subject = {
  name: "a data set of the hub",
  named: failing("hub|http"),
  async run(disturbed) {
    const rows = [...problems, { text: "Another.", result: "7" }];
    const contents = Buffer.from(jsonLines(rows));
    await using served = await hubWith({ "troupe/chaos": { files: { "train.jsonl": { contents } } } });
    return await behindProxy(served.url, disturbed, (url) => {
      const dataset = JSON.stringify({ name: "troupe/chaos", fields: mathFields });
      const given = [`environment.dataset=${dataset}`, mathSplits];
      return comparedTo(6, given, { ...disturbed, variables: { HF_ENDPOINT: url } });
    });
  },
};

async function hubWith(datasets: Parameters<typeof startHub>[0]) {
  const started = await startHub(datasets);
  return { url: started.url, [Symbol.asyncDispose]: () => started.close() };
}

async function trainedBy(recipe: string, disturbed: Disturbed, engine = "engine: { threads: 1 }") {
  await writeFile(path.join(disturbed.place.folder, "chaos.yaml"), `${recipe}${failureOptions}${engine}\n`);
  return trained(["bin/troupe.js", "train", "chaos.yaml", "--run", "run", "--runs", "."], disturbed);
}

const failureOptions = "failures: { retries: 3, firstDelay: 0.02, longestDelay: 0.1, limit: 0.5 }\n";

/** With a proxy in front of a service. */
async function behindProxy(
  target: string,
  { by, seed }: Disturbed,
  running: (url: string) => Promise<Observed>,
): Promise<Observed> {
  const fault: ProxyOptions["fault"] = (at, index) =>
    by.fault?.(generatorOf(keyAt(rootKey(seed), at, index))) ?? null;
  const proxy = await startProxy({ target, fault });
  try {
    const observed = await running(proxy.url);
    return { ...observed, acts: observed.acts + proxy.faults() };
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

/** Scores an action by its first word, and writes as its habit says. */
const judgement =
  (habit?: string): CoachServer["answer"] =>
  (question) => {
    const isRight = writtenIn(question).startsWith(quotedIn(question.user, "reference")[0] ?? "none");
    const verdict = { reason: "as asked", blame: isRight ? "none" : "speaker", score: isRight ? 9 : 2 };
    if (habit === "surrounds its answers with prose")
      return `Here is my {verdict}:\n\n${JSON.stringify(verdict)}\n\nI hope that helps.`;
    return verdict;
  };

const judged = async (judge: object, disturbed: Disturbed) => {
  await writeFile(path.join(disturbed.place.folder, "colours.ts"), coloursModule);
  return trainedBy(`${colours}judge: ${JSON.stringify(judge)}\n`, disturbed);
};

export const coach: Subject = {
  name: "a coach",
  named: failing("coach"),
  async run(disturbed) {
    await using server = await coachServer(judgement(disturbed.by.habit));
    return await behindProxy(new URL(server.address).origin, disturbed, (url) =>
      judged(
        {
          name: "coach",
          provider: "compatible",
          model: "tiny",
          baseUrl: `${url}/v1`,
          truth: "visible",
          breaker: { failures: 4, pauseSeconds: 1, pauses: 1 },
          keyVariable: "CHAOS_KEY",
          concurrency: 1,
          timeoutSeconds: 5,
        },
        disturbed,
      ),
    );
  },
};

export const judgeProgram: Subject = {
  name: "a judge program",
  named: failing("judge"),
  run(disturbed) {
    const program = path.join(import.meta.dirname, "judge.ts");
    const command = [process.execPath, program, disturbed.by.habit ?? "none"];
    return judged({ name: "command", run: command, batch: 4, timeoutSeconds: 5 }, disturbed);
  },
};

/** Two roles answer once in each of two rounds. Works for a tenth of a second, so that there is time to disturb it. */
const agents = `
const { word } = JSON.parse(process.env.TROUPE_TASK);
const ask = async (role, content) => {
  const response = await fetch(process.env["OPENAI_BASE_URL_" + role] + "/chat/completions", {
    method: "POST",
    body: JSON.stringify({ messages: [{ role: "user", content }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).choices[0].message.content.trim();
};
let [said, right] = [word, 0];
for (let round = 0; round < 2; round++) {
  said = await ask("WRITER", "say " + said);
  await new Promise((resolve) => setTimeout(resolve, 50));
  right += (said === word) + ((await ask("CRITIC", "is " + said)) === said);
}
console.log(right / 4);
`;

const agentsRecipe = `name: agents
environment: { name: command, run: [node, agents.mjs], dataset: { files: { train: words.jsonl, heldOut: words.jsonl } }, words: [say, is, hot, cold] }
team: { roles: { writer: { policy: writer, maxTokens: 1 }, critic: { policy: critic, maxTokens: 1 } }, turns: 2 }
policies: { writer: { model: { preset: nano } }, critic: { model: { preset: nano } } }
algorithm: { name: magrpo, samples: 3, handOver: each }
train: { steps: 4, tasksPerStep: 2, learningRate: 0.003 }
evaluation: { tasks: 2 }
checkpoint: { every: 3 }
`;

/** Programs that drive themselves: those that had ended do not run again. */
export const agentPrograms: Subject = {
  name: "agents of a program",
  named: failing("program|episode"),
  async run(disturbed) {
    const at = (name: string): string => path.join(disturbed.place.folder, name);
    await writeFile(at("agents.mjs"), agents);
    await writeFile(at("words.jsonl"), jsonLines([{ word: "hot" }, { word: "cold" }]));
    return trainedBy(agentsRecipe, disturbed);
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
  // The command also runs Python.
  named: failing("MCP|tool|sandbox|python3"),
  async run(disturbed) {
    const command = [process.execPath, towns, disturbed.by.habit ?? "none"];
    const tool = JSON.stringify({ name: "mcp", command, seconds: 5 });
    return trained([toolsProgram, "0", await byteModel(disturbed.place.folder), tool], disturbed);
  },
};

/** A tool that throws instead of returning an error, whatever number the error has. */
export const mcpErrors: Subject = {
  name: "an MCP server's errors",
  named: failing("MCP|tool"),
  async run(disturbed) {
    const command = [process.execPath, towns, disturbed.by.habit ?? "throws errors about parameters"];
    const tool = JSON.stringify({ name: "mcp", command, seconds: 5 });
    return trained([toolsProgram, "0", await byteModel(disturbed.place.folder), tool], disturbed);
  },
};

export const mcpAddress: Subject = {
  name: "an MCP server's address",
  named: failing("MCP|tool"),
  async run(disturbed) {
    const server = spawn(process.execPath, [towns, disturbed.by.habit ?? "none", "http"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [port] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
    const model = await byteModel(disturbed.place.folder);
    try {
      return await behindProxy(`http://127.0.0.1:${port}`, disturbed, (url) => {
        const tool = JSON.stringify({ name: "mcp", url: `${url}/mcp`, seconds: 5 });
        return trained([toolsProgram, "0", model, tool], disturbed);
      });
    } finally {
      server.kill();
    }
  },
};

/** The expert's edits are in the next turn's prompts, so that without one everything after it is different. */
const edited = ({ user }: { readonly user: string }) => ({
  main: `def add(a, b):\n    return ${user.length}\n`,
  aux: "",
});

export const expert: Subject = {
  name: "an expert",
  named: failing("expert"),
  async run(disturbed) {
    await writeFile(path.join(disturbed.place.folder, "functions.jsonl"), jsonLines(functions));
    await byteModel(disturbed.place.folder);
    const isStrange = disturbed.by.habit === "writes no edits";
    await using server = await coachServer((question) =>
      isStrange ? "I would rather not." : edited(question),
    );
    return await behindProxy(new URL(server.address).origin, disturbed, (url) =>
      trainedBy(expertRecipe(`${url}/v1`), disturbed),
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
  named: failing("run|writ|disk"),
  run: (disturbed) => trainedBy(`${tiny}policies: { own: { model: { preset: nano } } }\n`, disturbed),
};

export const tinkerEngine: Subject = {
  name: "a training on a Tinker server",
  named: failing("server|engine"),
  async run(disturbed) {
    const { folder } = disturbed.place;
    const [tokenizer, model] = [path.join(folder, "words"), path.join(folder, "nano")];
    writeWordTokenizer(tokenizer, wordsOf(tinyRecipe()));
    await initModel({ directory: model, preset: presets.nano, tokenizer, seed: 1 });
    await using server = await tinkerServer(model, disturbed);
    const observed = await behindProxy(server.url, disturbed, (url) => {
      const engine = `engine: { type: tinker, url: "${url}", profile: troupe }`;
      return trainedBy(`${tiny}policies: { own: { model: { path: nano } } }\n`, disturbed, engine);
    });
    return { ...observed, acts: observed.acts + server.restarts() };
  },
};

/** A server that may be killed at some moment, and started again with the same folder. */
async function tinkerServer(model: string, { place, by, seed }: Disturbed) {
  const folder = path.join(place.folder, "served");
  let serving = await startServing([model], { folder });
  let restarts = 0;
  const { url } = serving;
  const restart = async (): Promise<void> => {
    await delay(500 + drawInt(generatorOf(rootKey(seed)), 2000));
    restarts += 1;
    await serving.kill();
    serving = await startServing([model], { folder, port: Number(new URL(url).port) });
  };
  const restarting = by.restarts === true ? restart() : Promise.resolve();
  const stop = async (): Promise<void> => {
    await restarting;
    await serving.stop();
  };
  return { url, restarts: () => restarts, [Symbol.asyncDispose]: stop };
}

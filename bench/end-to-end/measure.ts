/**
 * Whole steps of GRPO, and the time until boards are solved, beside TRL's GRPOTrainer: the same model files, tasks, prompts,
 * samples, rewards, loss and optimizer, a step of one side after a step of the other. Evaluations are not timed: both sides'
 * weights play the same held-out boards through `troupe`.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Context, Environment, Json } from "../../src/environments/environment.ts";
import { sourceOf, trainingTasks } from "../../src/environments/tasks.ts";
import { TroupeError } from "../../src/errors.ts";
import { childKey, keyAt, rootKey } from "../../src/random.ts";
import { resolveRecipe } from "../../src/recipes/resolve.ts";
import type { Recipe } from "../../src/recipes/schema.ts";
import { readEpisodes } from "../../src/rollout/stored.ts";
import { buildTeam } from "../../src/teams/build.ts";
import { beginHistory } from "../../src/text/history.ts";
import { loadTokenizer, type Tokenizer } from "../../src/text/tokenizer.ts";
import { mean, sum } from "../../src/statistics.ts";
import { median } from "../alternate.ts";
import { LineProcess } from "../peer-process.ts";
import { sizes, troupe, type Size, type SizeName, type TrlSettings } from "./sizes.ts";
import type { OurWork } from "./ours.ts";

/** The share of held-out boards at which a side has arrived. */
export const target = 0.9;

export interface SideFigures {
  /** Seconds of its fastest step, which other work on the machine disturbed least. */
  readonly best: number;
  /** Medians of its steps, in seconds; `processor`: of all processors together. */
  readonly seconds: number;
  readonly processor: number;
  /** Tokens of a step, means: of all replies, and of those that have an advantage, or of all if a side trains on all. */
  readonly sampled: number;
  readonly trained: number;
  readonly steps: number;
  /** Held-out success after the training seconds so far. */
  readonly progress: readonly { readonly seconds: number; readonly success: number }[];
  /** Training seconds until `target`; null: it was not reached. */
  readonly arrival: number | null;
}

export interface EndToEnd {
  readonly size: SizeName;
  readonly samples: number;
  readonly tasksPerStep: number;
  readonly promptTokens: number;
  readonly ours: SideFigures;
  readonly trl?: SideFigures & { readonly settings: TrlSettings; readonly versions: string };
}

/** @param python one that has trl, peft and datasets; undefined: our side alone */
export async function measureEndToEnd(
  name: SizeName,
  threads: number,
  python: string | undefined,
  tell: (what: string) => void,
): Promise<EndToEnd> {
  const folder = mkdtempSync(join(tmpdir(), "troupe-end-to-end-"));
  try {
    tell(`${name}: the model that both sides start from`);
    const job = await prepare(folder, sizes[name], threads);
    const settings = python === undefined ? undefined : await fastest(job, python, tell);
    tell(`${name}: ${job.size.steps} steps of each side`);
    const sides = [
      new Ours(job),
      ...(settings === undefined ? [] : [new Trl(job, python as string, settings)]),
    ];
    try {
      await takeSteps(job, sides, tell);
    } finally {
      for (const { process } of sides) process.close();
    }
    const [ours, trl] = sides;
    const { samples } = job.recipe.algorithm as unknown as { samples: number };
    const { tasksPerStep } = job.recipe.train;
    const promptTokens = mean(job.prompts.map(({ length }) => length));
    const common = { size: name, samples, tasksPerStep, promptTokens, ours: (ours as Side).figures() };
    if (!(trl instanceof Trl)) return common;
    return { ...common, trl: { ...trl.figures(), settings: trl.settings, versions: trl.versions } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The work of both sides. */
interface Job {
  readonly folder: string;
  readonly size: Size;
  readonly threads: number;
  readonly overrides: readonly string[];
  readonly model: string;
  readonly recipe: Recipe;
  readonly environment: Environment;
  readonly tokenizer: Tokenizer;
  readonly seat: string;
  /** Most tokens of a reply. */
  readonly reply: number;
  /** Of all steps, in their order. */
  readonly tasks: readonly Json[];
  readonly prompts: readonly Int32Array[];
}

async function prepare(folder: string, size: Size, threads: number): Promise<Job> {
  const model = await size.start(folder);
  const overrides = [
    "policies.policy.model.preset=null",
    `policies.policy.model.path=${model}`,
    "warmStart=null",
    `train.steps=${size.steps}`,
    `evaluation.every=${size.every}`,
    `engine.threads=${threads}`,
    ...(size.every === 0 ? ["evaluation.tasks=1"] : []),
  ];
  const { recipe, environment } = await resolveRecipe(size.recipe, overrides);
  const [role] = buildTeam(recipe.team, environment).roles;
  if (role === undefined) throw new TroupeError("internal", `${size.recipe} has no role`);
  const tokenizer = loadTokenizer(model);
  const root = rootKey(recipe.seed);
  const taskOf = trainingTasks(sourceOf(environment, "train"), childKey(root, "tasks"));
  const { tasksPerStep } = recipe.train;
  const tasks: Json[] = [];
  for (let step = 1; step <= size.steps; step++)
    for (let index = 0; index < tasksPerStep; index++)
      tasks.push(await taskOf(tasks.length, keyAt(root, "train", step, index, "task")));
  const { seat, maxTokens: reply } = role;
  const prompts: Int32Array[] = [];
  for (const task of tasks) {
    const seen = environment.observe(await environment.start(task, context), seat) as string;
    prompts.push(beginHistory(tokenizer, [{ role: "user", content: seen }]).tokens);
  }
  return {
    folder,
    size,
    threads,
    overrides,
    model,
    recipe,
    environment,
    tokenizer,
    seat,
    reply,
    tasks,
    prompts,
  };
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The rules of boards use nothing of it. */
const context = {} as Context;

/** What a reply earns, for both sides: the score of its episode. */
async function scoreOf(
  { environment, tokenizer, seat, reply, tasks }: Job,
  task: number,
  tokens: readonly number[],
) {
  const state = await environment.start(tasks[task] ?? null, context);
  const isCut = tokens.length === reply && !tokenizer.endTokens.includes(tokens.at(-1) ?? -1);
  const stepped = await environment.step(state, { [seat]: tokenizer.parseReply(tokens, isCut) }, context);
  return environment.outcome(stepped.state).score;
}

interface Step {
  readonly seconds: number;
  readonly processor: number;
  readonly sampled: number;
  readonly trained: number;
}

/** A side in its own process, which waits while the other takes a step. */
abstract class Side {
  readonly name: string;
  readonly process: LineProcess;
  readonly steps: Step[] = [];
  readonly progress: { readonly seconds: number; readonly success: number }[] = [];

  constructor(name: string, process: LineProcess) {
    this.name = name;
    this.process = process;
  }

  /** Held-out success of its weights as they are. */
  abstract success(): Promise<number>;

  get hasArrived(): boolean {
    return this.arrival !== null;
  }

  get arrival(): number | null {
    return this.progress.find(({ success }) => success >= target)?.seconds ?? null;
  }

  async step(): Promise<void> {
    this.steps.push((await this.ask({ verb: "step" })) as Step);
    // It may have work after a step, such as an evaluation, which must not run beside the other side's step.
    await this.ask({ verb: "ready" });
  }

  async evaluate(): Promise<void> {
    const seconds = sum(this.steps.map((one) => one.seconds));
    this.progress.push({ seconds, success: await this.success() });
  }

  async ask(request: object): Promise<object> {
    this.process.send(request);
    const answer = await this.process.next();
    if (answer !== undefined) return answer as object;
    throw new TroupeError(
      "internal",
      `${this.name} ended after ${this.steps.length} steps: ${this.process.complaint}`,
    );
  }

  figures(): SideFigures {
    const of = (field: keyof Step): number[] => this.steps.map((one) => one[field]);
    return {
      best: Math.min(...of("seconds")),
      seconds: median(of("seconds")),
      processor: median(of("processor")),
      sampled: mean(of("sampled")),
      trained: mean(of("trained")),
      steps: this.steps.length,
      progress: this.progress,
      arrival: this.arrival,
    };
  }
}

class Ours extends Side {
  readonly directory: string;

  constructor({ folder, size, overrides, threads }: Job) {
    const directory = join(folder, "run");
    const work: OurWork = { recipe: size.recipe, overrides, directory };
    super("our side", new LineProcess(process.execPath, [here("ours.ts"), JSON.stringify(work)], threads));
    this.directory = directory;
  }

  async success(): Promise<number> {
    return ((await this.ask({ verb: "ready" })) as { success: number }).success;
  }
}

class Trl extends Side {
  readonly settings: TrlSettings;
  readonly #job: Job;
  versions = "";

  constructor(job: Job, python: string, settings: TrlSettings) {
    const file = join(job.folder, "work.json");
    writeFileSync(file, JSON.stringify(trlWork(job, settings)));
    super("TRL", new LineProcess(python, [here("grpo.py"), file], settings.threads));
    this.settings = settings;
    this.#job = job;
  }

  /** Its weights play through our evaluation, with the tokenizer of the start. */
  async success(): Promise<number> {
    const { folder, model } = this.#job;
    const to = join(folder, "trl");
    cpSync(model, to, { recursive: true });
    await this.ask({ verb: "save", to });
    return successOf(this.#job, to);
  }

  /** Its rewards are asked of us while it takes a step. */
  override async ask(request: object): Promise<object> {
    let answer = await super.ask(request);
    while ("replies" in answer) {
      const replies = answer.replies as readonly {
        readonly task: number;
        readonly tokens: readonly number[];
      }[];
      const scores = await Promise.all(replies.map(({ task, tokens }) => scoreOf(this.#job, task, tokens)));
      answer = await super.ask({ scores });
    }
    if ("versions" in answer) this.versions = String(answer.versions);
    return answer;
  }
}

function trlWork({ model, recipe, reply, size, tokenizer, prompts }: Job, settings: TrlSettings): object {
  const { samples, clipLow } = recipe.algorithm as unknown as { samples: number; clipLow: number };
  const { tasksPerStep, learningRate, beta1, beta2, epsilon, weightDecay, clipNorm } = recipe.train;
  const { adapter } = recipe.policies["policy"] ?? {};
  return {
    ...settings,
    model,
    reply,
    samples,
    tasksPerStep,
    adapter,
    steps: size.steps,
    clip: clipLow,
    adam: { learningRate, beta1, beta2, epsilon, weightDecay, clipNorm },
    end: tokenizer.endTokens[0],
    prompts: prompts.map((prompt) => [...prompt]),
  };
}

/** TRL's settings with the fastest step, each tried in a process of its own. */
async function fastest(job: Job, python: string, tell: (what: string) => void): Promise<TrlSettings> {
  const found: { readonly settings: TrlSettings; readonly seconds: number }[] = [];
  for (const settings of settingsOf(job)) {
    const side = new Trl(job, python, settings);
    try {
      for (let step = 0; step < job.size.trials; step++) await side.step();
    } finally {
      side.process.close();
    }
    const seconds = Math.min(...side.steps.map((one) => one.seconds));
    tell(`  TRL with ${showSettings(settings)}: ${seconds.toFixed(2)} s for a step`);
    found.push({ settings, seconds });
  }
  return (found.toSorted((one, other) => one.seconds - other.seconds)[0] as (typeof found)[0]).settings;
}

function settingsOf({ size, threads }: Job): TrlSettings[] {
  const hasUnits = /avx512_bf16|amx_bf16/.test(readFileSync("/proc/cpuinfo", "utf8"));
  const precisions = ["float32", ...(hasUnits ? (["bfloat16"] as const) : [])] as const;
  return size.batches.flatMap((batch) => precisions.map((precision) => ({ batch, precision, threads })));
}

export function showSettings({ batch, precision, threads }: TrlSettings): string {
  return `${batch} replies at a time, ${precision}, ${threads} threads`;
}

/** Each side stops once it has arrived; the other goes on alone. */
async function takeSteps(job: Job, sides: readonly Side[], tell: (what: string) => void): Promise<void> {
  const { steps, every } = job.size;
  for (const side of every === 0 ? [] : sides) await side.evaluate();
  const [first, ...others] = sides.flatMap(({ progress }) => progress.map(({ success }) => success));
  if (others.some((other) => other !== first))
    throw new TroupeError(
      "internal",
      `the sides start with a success of ${first} and ${others.join(", ")}; expected equal ones`,
    );
  for (let step = 1; step <= steps; step++) {
    for (const side of sides.filter(({ hasArrived }) => !hasArrived)) {
      await side.step();
      if (step === 1 && side instanceof Ours) await checkRecords(job, side.directory);
      if (every !== 0 && step % every === 0) await side.evaluate();
      tell(`  ${side.name}, step ${step}: ${showLast(side)}`);
    }
  }
}

function showLast({ steps, progress }: Side): string {
  const success = progress.at(-1);
  return `${steps.at(-1)?.seconds.toFixed(2)} s${success === undefined ? "" : `, success ${success.success.toFixed(3)}`}`;
}

/** What our side recorded of its first step must be what TRL is given: tasks, prompts and rewards. */
async function checkRecords(job: Job, directory: string): Promise<void> {
  let checked = 0;
  for await (const { episode } of readEpisodes(directory, { step: 1, from: "training" })) {
    const index = Number(episode.path.at(-1));
    for (const [sample, { prompt, tokens }] of episode.actions.entries()) {
      const score = await scoreOf(job, index, [...tokens]);
      const isSame =
        isDeepStrictEqual(episode.task, job.tasks[index]) &&
        isDeepStrictEqual(prompt, job.prompts[index]) &&
        episode.ends[sample]?.outcome.score === score;
      if (!isSame)
        throw new TroupeError(
          "internal",
          `TRL would get another task, prompt or reward than sample ${sample} of ${episode.id}`,
        );
      checked++;
    }
  }
  if (checked === 0)
    throw new TroupeError("internal", `${directory} has no episodes to compare with TRL's work`);
}

function successOf({ size, overrides }: Job, model: string): number {
  const printed = troupe("eval", model, "--recipe", size.recipe, ...overrides, "--json");
  return (JSON.parse(printed) as { success: number }).success;
}

/** Our side of the comparison: one process that samples, trains and updates. Prints a line of JSON for each step, and the peak. */
import { readFileSync } from "node:fs";
import { openOwn } from "../../src/engines/torch/testing/own-worker.ts";
import type { AdapterOptions } from "../../src/models/adapter-options.ts";

export interface Work {
  readonly model: string;
  readonly adapter: AdapterOptions;
  /** In the place of the engine's. */
  readonly python: string;
  readonly device: string;
  readonly precision: "bfloat16" | "float32";
  readonly threads: number;
  readonly prompts: readonly (readonly number[])[];
  readonly samples: number;
  readonly reply: number;
  readonly steps: number;
  readonly settings?: object;
}

const work = JSON.parse(process.argv[2] ?? "") as Work;
const policy = "policy";

const given = { device: work.device, precision: work.precision, threads: work.threads, ...work.settings };
const { engine, processes } = openOwn(given, "/dev/stderr", work.python);
const [worker] = processes;
if (worker === undefined) throw new Error("no worker was started");
await engine.createPolicy({ name: policy, model: work.model, adapter: work.adapter });
const status = (pid: number, key: string): number =>
  1024 * Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
/** Seconds of all processors, of the worker and of this process. */
const processor = (): number => {
  const fields = readFileSync(`/proc/${worker.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const { user, system } = process.cpuUsage();
  return (Number(fields[11]) + Number(fields[12])) / 100 + (user + system) / 1e6;
};
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const longest = Math.max(...work.prompts.map(({ length }) => length)) + work.reply;
const perPolicy = Math.max(...work.prompts.map(({ length }) => length)) + work.samples * work.reply;
print({
  predicted: await engine.predictMemory({
    tokens: perPolicy,
    prompts: perPolicy - work.samples * work.reply,
    longest,
    sequences: work.prompts.length * work.samples,
  }),
});
print({ loaded: status(worker.pid ?? 0, "VmHWM"), rss: status(worker.pid ?? 0, "VmRSS") });

for (let step = 0; step < work.steps; step++) {
  const start = [performance.now(), processor()] as const;
  const prompts = work.prompts.map((prompt) => Int32Array.from(prompt));
  const sampled = await Promise.all(
    prompts.map((prompt, index) =>
      engine.sample({
        policy,
        prompt,
        count: work.samples,
        maxTokens: work.reply,
        temperature: 1,
        seed: step * prompts.length + index,
      }),
    ),
  );
  const middle = [performance.now(), processor()] as const;
  const peak = status(worker.pid ?? 0, "VmHWM");
  const tokens = work.prompts.length * work.samples * work.reply;
  await engine.forwardBackward(
    sampled.map((sequences, group) => ({
      policy,
      prompt: prompts[group] as Int32Array,
      continuations: sequences.map((sequence, index) => {
        if (sequence.tokens.length !== work.reply)
          throw new Error(`a reply of ${sequence.tokens.length} tokens`);
        const advantage = (index % 2 === 0 ? -1 : 1) / tokens;
        const advantages = new Float32Array(work.reply).fill(advantage);
        return { tokens: sequence.tokens, logprobs: sequence.logprobs, advantages };
      }),
    })),
    { type: "ppo", clipLow: 0.2, clipHigh: 0.2 },
  );
  await engine.optimStep(policy, {
    learningRate: 1e-5,
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    weightDecay: 0,
    clipNorm: 1,
  });
  print({
    sample: (middle[0] - start[0]) / 1000,
    train: (performance.now() - middle[0]) / 1000,
    sampleProcessor: middle[1] - start[1],
    trainProcessor: processor() - middle[1],
    afterSampling: peak,
  });
}
print({ peak: status(worker.pid ?? 0, "VmHWM"), trainer: process.resourceUsage().maxRSS * 1024 });
await engine.close();

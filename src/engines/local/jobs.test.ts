import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { beforeAll, describe, expect, test } from "vitest";
import type { Datum, PolicyOptions, SampleRequest } from "../engine.ts";
import { LocalEngine } from "./local-engine.ts";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import {
  adam,
  adapter,
  ids,
  request as oneRequest,
  someDatum,
  snapshotAt,
  testEngine,
  train,
} from "./test-engine.ts";

const folder = temporaryFolder();
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
});

async function engineWithPolicy(): Promise<LocalEngine> {
  const engine = testEngine();
  await engine.createPolicy({ name: "p", model });
  return engine;
}

const request = (seed: number, more: Partial<SampleRequest> = {}): SampleRequest =>
  oneRequest({ count: 2, maxTokens: 10, seed, ...more });

/** Enough work to be still running when a timer fires. */
const longSampling = request(1, { count: 4000, maxTokens: 60 });

function longData(length = 2000): Datum[] {
  const continuations = Array.from({ length }, () => ({ tokens: new Int32Array(60).fill(7) }));
  return [{ policy: "p", prompt: ids(4, 6), continuations }];
}

describe("while the engine works", () => {
  test("timers still fire", async () => {
    const engine = await engineWithPolicy();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    await engine.sample({ ...longSampling, count: 200 });
    const whileSampling = ticks;
    await engine.forwardBackward(longData(200), { type: "cross_entropy" });
    clearInterval(timer);
    expect(whileSampling).toBeGreaterThan(0);
    expect(ticks).toBeGreaterThan(whileSampling);
  });

  test("saving is atomic: training submitted later is not included", async () => {
    const engine = await engineWithPolicy();
    const before = await engine.forward([someDatum("p")]);
    const saved = engine.export("p", `${folder}/piece`);
    const trained = engine.forwardBackward([someDatum("p")], { type: "cross_entropy" });
    const stepped = engine.optimStep("p", adam);
    await Promise.all([saved, trained, stepped]);
    await engine.restore("p", snapshotAt(`${folder}/piece`));
    expect((await engine.forward([someDatum("p")])).logprobs).toEqual(before.logprobs);
  });
});

describe("loading and saving", () => {
  test.each<readonly [string, (engine: LocalEngine) => Promise<unknown>]>([
    ["a checkpoint", (engine) => engine.checkpoint("q", { folder, name: "whole" })],
    ["a new policy", (engine) => engine.createPolicy({ name: "r", model })],
    ["a copy", (engine) => engine.copy("q")],
  ])("waits for nothing that another policy was asked later: %s", async (_, work) => {
    const engine = await engineWithPolicy();
    await engine.createPolicy({ name: "q", model });
    const ended: string[] = [];
    await Promise.all([
      work(engine).then(() => ended.push("whole")),
      engine.forwardBackward([someDatum("p")], { type: "cross_entropy" }).then(() => ended.push("trained")),
      engine.sample(request(1)).then(() => ended.push("sampled")),
    ]);
    expect(ended[0]).toBe("whole");
  });
});

function made(name: string, seed: number): PolicyOptions {
  return { name, model, adapter: { ...adapter, seed } };
}

async function trainedAndSaved(engine: LocalEngine): Promise<number[]> {
  const losses = await train(engine, "a", 3);
  await engine.checkpoint("a", { folder, name: "beside" });
  return [...losses, ...(await train(engine, "a", 3))];
}

describe("policies that share a base", () => {
  test("are made, copied and removed at once as they are one by one", async () => {
    const apart = testEngine();
    await apart.createPolicy(made("a", 1));
    await apart.createPolicy(made("b", 2));
    await apart.removePolicy("a");
    await apart.createPolicy(made("a", 3));
    const copy = await apart.copy("b");
    const ofA = request(1, { policy: "a" });
    const expected = [await apart.sample(ofA), await copy.sample(request(1))];
    const together = testEngine();
    const [, , , , copied] = await Promise.all([
      together.createPolicy(made("a", 1)),
      together.createPolicy(made("b", 2)),
      together.removePolicy("a"),
      together.createPolicy(made("a", 3)),
      together.copy("b"),
    ]);
    const found = await Promise.all([together.sample(ofA), copied.sample(request(1))]);
    expect(found).toEqual(expected);
  });

  test("leave no memory behind", async () => {
    const engine = testEngine();
    const [, , copy] = await Promise.all([
      engine.createPolicy(made("a", 1)),
      engine.createPolicy(made("b", 2)),
      engine.copy("b"),
    ]);
    expect(engine.memoryBytes).toBeGreaterThan(0);
    await Promise.all([engine.removePolicy("a"), copy.release(), engine.removePolicy("b")]);
    await expect.poll(() => engine.memoryBytes).toBe(0);
  });

  test("train and save while others are made and removed, with the same numbers", async () => {
    const alone = testEngine();
    await alone.createPolicy(made("a", 1));
    const expected = await trainedAndSaved(alone);
    const engine = testEngine();
    await engine.createPolicy(made("a", 1));
    const others = async (): Promise<void> => {
      for (let round = 0; round < 3; round++) {
        const names = [`b${round}`, `c${round}`];
        await Promise.all(names.map((name, index) => engine.createPolicy(made(name, index))));
        await Promise.all(names.map((name) => engine.removePolicy(name)));
      }
    };
    const [found] = await Promise.all([trainedAndSaved(engine), others()]);
    expect(found).toEqual(expected);
  });
});

describe("cancelling", () => {
  test("ends sampling without affecting concurrent work", async () => {
    const engine = await engineWithPolicy();
    const quiet = await engine.sample(request(3));
    const controller = new AbortController();
    const doomed = failure("cancelled", () => engine.sample(longSampling, { signal: controller.signal }));
    const beside = engine.sample(request(3));
    await delay(2);
    controller.abort();
    expect(await doomed).toContain("cancel");
    expect(await beside).toEqual(quiet);
    expect(await engine.sample(request(3))).toEqual(quiet);
  });

  test("ends training, and leaves no part of a gradient behind", async () => {
    const engine = await engineWithPolicy();
    const controller = new AbortController();
    const doomed = failure("cancelled", () =>
      engine.forwardBackward(longData(), { type: "cross_entropy" }, { signal: controller.signal }),
    );
    await delay(2);
    controller.abort();
    expect(await doomed).not.toBe("");
    const untouched = await engineWithPolicy();
    for (const each of [engine, untouched])
      await each.forwardBackward([someDatum("p")], { type: "cross_entropy" });
    expect(await engine.optimStep("p", adam)).toEqual(await untouched.optimStep("p", adam));
  });

  test("removes a queued job at once; it never starts", async () => {
    const engine = await engineWithPolicy();
    const order: string[] = [];
    const long = engine.forward(longData(500)).then(() => order.push("long"));
    const controller = new AbortController();
    const queued = failure("cancelled", () => engine.sample(request(1), { signal: controller.signal }));
    await delay(0);
    controller.abort();
    await queued.then(() => order.push("cancelled"));
    await long;
    expect(order).toEqual(["cancelled", "long"]);
  });

  test("one signal serves any number of jobs", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on("warning", listen);
    const engine = await engineWithPolicy();
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 50 }, (_, i) => engine.sample(request(i), { signal })));
    await delay(0);
    process.off("warning", listen);
    expect(warnings).toEqual([]);
  });

  test("closing cancels everything and frees the memory", async () => {
    const engine = await engineWithPolicy();
    const running = [
      failure("cancelled", () => engine.sample(longSampling)),
      failure("cancelled", () => engine.forwardBackward(longData(), { type: "cross_entropy" })),
      failure("cancelled", () => engine.optimStep("p", adam)),
    ];
    await delay(2);
    expect(engine.memoryBytes).toBeGreaterThan(0);
    await engine.close();
    await Promise.all(running);
    expect(engine.memoryBytes).toBe(0);
    expect(await failure("bad_arguments", () => engine.sample(request(1)))).toContain("closed");
  });
});

describe("several engines", () => {
  test("compute concurrently with the same results", async () => {
    const [one, other] = [await engineWithPolicy(), await engineWithPolicy()];
    const [first, second] = await Promise.all([one, other].map((each) => each.sample(request(1))));
    expect(second).toEqual(first);
  });

  test("one in a worker thread computes, and its thread may be terminated during a job", async () => {
    const engine = await engineWithPolicy();
    const expected = (await engine.sample(request(1)))[0]?.tokens;
    const body = `await engine.sample(request).then((s) => say(s[0].tokens)); await engine.sample(long);`;
    const worker = new Worker(script(body), { eval: true });
    const [tokens] = (await once(worker, "message")) as [Int32Array];
    expect(tokens).toEqual(expected);
    await worker.terminate();
    expect((await engine.sample(request(1)))[0]?.tokens).toEqual(expected);
  });
});

test("threads that are terminated at any moment, during small jobs, do no harm", async () => {
  const calls = `Promise.all(Array.from({ length: 50 }, (_, seed) => engine.sample({ ...request, maxTokens: 1, seed })))`;
  for (let round = 0; round < 4; round++) {
    const worker = new Worker(script(`say("ready"); for (;;) await ${calls};`), { eval: true });
    await once(worker, "message");
    await delay(round * 4);
    expect(await worker.terminate()).toBe(1);
  }
});

describe("a process", () => {
  test("ends although an idle engine is open, which computes in float32 without bfloat16 units", async () => {
    const source = `await engine.sample(request); say(new LocalEngine({ threads: 1, precision: "bfloat16" }).description);`;
    const output = "local engine (scalar, 1 thread, float32)";
    expect(await run(source, { TROUPE_KERNELS: "scalar" })).toEqual({ code: 0, output });
  });

  test("ends although an engine was forgotten and collected", async () => {
    const source = `engine = undefined; for (let i = 0; i < 5; i++) { gc(); await new Promise(setImmediate); } say("done");`;
    expect(await run(source)).toEqual({ code: 0, output: "done" });
  });

  test("waits for its pending calls", async () => {
    const source = `void engine.sample(request).then(() => say("sampled"));`;
    expect(await run(source)).toEqual({ code: 0, output: "sampled" });
  });

  test("that exits during a job exits", async () => {
    const source = `void engine.forward(long2); void engine.sample(long); setTimeout(() => { say("bye"); process.exit(7); }, 20);`;
    expect(await run(source)).toEqual({ code: 7, output: "bye" });
  });
});

/** A program with an engine, a request, long work, and `say`, which prints or, in a worker, posts a message. */
function script(body: string): string {
  const file = JSON.stringify(fileURLToPath(new URL("./local-engine.ts", import.meta.url)));
  return `(async () => {
    const { parentPort } = await import("node:worker_threads");
    const say = (value) => (parentPort ? parentPort.postMessage(value) : process.stdout.write(String(value)));
    const { LocalEngine } = await import(${file});
    let engine = new LocalEngine({ threads: 2, precision: "float32" });
    await engine.createPolicy({ name: "p", model: ${JSON.stringify(model)} });
    const prompt = Int32Array.of(4, 6, 7, 8);
    const request = { policy: "p", prompt, count: 2, maxTokens: 10, temperature: 1, seed: 1 };
    const long = { ...request, count: 20000, maxTokens: 60 };
    const long2 = [{ policy: "p", prompt, continuations: Array.from({ length: 9000 }, () => ({ tokens: new Int32Array(60) })) }];
    ${body}
  })();`;
}

async function run(body: string, environment: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, ["--expose-gc", "-e", script(body)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...environment },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

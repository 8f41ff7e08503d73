/** The worker is killed, or loses its parent, in the middle of its work. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { withServicesUsed } from "../../calls/services.ts";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import type { Datum } from "../engine.ts";
import { request } from "../local/test-engine.ts";
import { LastingWorker } from "./lasting-worker.ts";
import { startWorker } from "./testing/own-worker.ts";
import { python } from "./testing/shared-worker.ts";
import { TorchEngine } from "./torch-engine.ts";
import type { TorchWorker } from "./worker.ts";

const program = fileURLToPath(new URL("testing/orphan.ts", import.meta.url));

/** What is killed, and when: before the worker has heard of a verb, or once it has confirmed it. */
interface Killing {
  readonly verb: string;
  readonly when: "during" | "after";
}

/** An engine whose worker is killed once, and the processes that were started. */
function openKilled(killing: Killing | null): { engine: TorchEngine; processes: TorchWorker[] } {
  const processes: TorchWorker[] = [];
  let isDue = killing !== null;
  const lasting = new LastingWorker(() => {
    const worker = startWorker({ deterministic: true });
    processes.push(worker);
    return {
      ready: worker.ready,
      get memory() {
        return worker.memory;
      },
      ask: async (verb, ...rest) => {
        const answer = worker.ask(verb, ...rest);
        if (!isDue || verb !== killing?.verb) return answer;
        isDue = false;
        if (killing.when === "after") await answer;
        process.kill(worker.pid ?? 0, "SIGKILL");
        return answer;
      },
      close: () => worker.close(),
    };
  });
  return { engine: new TorchEngine(lasting), processes };
}

/** A policy's life: a step, a checkpoint, a copy, two steps, samples of both, a checkpoint. */
async function lived(engine: TorchEngine, model: string, folder: string): Promise<object> {
  await engine.createPolicy({ name: "p", model });
  const step = async (): Promise<number> => {
    await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.forwardBackward(data, { type: "cross_entropy" });
    return (await engine.optimStep("p", adam)).gradientNorm;
  };
  const norms = [await step()];
  await engine.checkpoint("p", { folder, name: "first" });
  norms.push(await step());
  const copy = await engine.copy("p");
  norms.push(await step());
  const samples = [
    ...(await copy.sample(request({ policy: "p", count: 3, maxTokens: 5 }))),
    ...(await engine.sample(request({ policy: "p", count: 3, maxTokens: 5 }))),
  ];
  await copy.release();
  await engine.checkpoint("p", { folder, name: "last" });
  await engine.close();
  const files = ["last/model.safetensors", "last.optimizer"].map((name) =>
    contentsOf(path.join(folder, name)),
  );
  return { norms, files, samples };
}

/** The order of a header's fields is chance: its metadata and the SHA-256 of all numbers. */
function contentsOf(file: string): object {
  const bytes = readFileSync(file);
  const start = 8 + Number(bytes.readBigUInt64LE());
  const { __metadata__: metadata } = JSON.parse(bytes.subarray(8, start).toString()) as Record<
    string,
    unknown
  >;
  return { metadata, digest: createHash("sha256").update(bytes.subarray(start)).digest("hex") };
}

const data: readonly Datum[] = [
  {
    policy: "p",
    prompt: Int32Array.of(3, 4, 5),
    continuations: [{ tokens: Int32Array.of(6, 7) }, { tokens: Int32Array.of(8, 9, 10) }],
  },
];
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.1, clipNorm: 1 };

const killings: readonly Killing[] = [
  { verb: "forwardBackward", when: "after" },
  { verb: "optimStep", when: "during" },
  { verb: "copy", when: "after" },
  { verb: "write", when: "during" },
  { verb: "writeOptimizer", when: "after" },
];

describe.skipIf(python === undefined)("kill -9", async () => {
  const model = python === undefined ? "" : await makeModel(temporaryFolder(), "model");
  const expected = python === undefined ? {} : await lived(openKilled(null).engine, model, temporaryFolder());

  it.each(killings)("of the worker, $when $verb: another one ends with the same bits", async (killing) => {
    const { engine, processes } = openKilled(killing);
    const { value, services } = await withServicesUsed(() => lived(engine, model, temporaryFolder()));
    expect(processes).toHaveLength(2);
    expect(value).toEqual(expected);
    expect(services["engine"]).toMatchObject({ retries: 1, failures: 0 });
    expect(services["engine"]?.lastProblem).toMatch(/SIGKILL/);
  });

  it("of the worker after its checkpoint was deleted: an error says so, and nothing is made up", async () => {
    const { engine, processes } = openKilled({ verb: "optimStep", when: "after" });
    const folder = temporaryFolder();
    await engine.createPolicy({ name: "p", model });
    await engine.checkpoint("p", { folder, name: "first" });
    rmSync(path.join(folder, "first.optimizer"));
    await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.optimStep("p", adam);
    expect(await failure("service", () => engine.sample(request({ policy: "p" })))).toMatch(
      /first\.optimizer was removed or replaced/,
    );
    expect(processes).toHaveLength(2);
    await engine.close();
  });

  it("of the worker once an adapter was saved again, and what it was made of deleted: the same bits", async () => {
    const { engine, processes } = openKilled({ verb: "optimStep", when: "after" });
    const folder = temporaryFolder();
    const adapter = { rank: 2, alpha: 4, seed: 1, targetModules: ["q_proj"] };
    await engine.createPolicy({ name: "q", model, adapter });
    const saved = await engine.checkpoint("q", { folder, name: "first" });
    await engine.createPolicy({ name: "p", model, adapter, from: { saved, folder } });
    await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.checkpoint("p", { folder, name: "second" });
    await engine.zeroGradients("p");
    await engine.checkpoint("p", { folder, name: "second" });
    await engine.removePolicy("q");
    rmSync(path.join(folder, "first"), { recursive: true });
    await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.optimStep("p", adam);
    const found = await engine.sample(request({ policy: "p" }));
    expect(processes).toHaveLength(2);
    const whole = openKilled(null).engine;
    await whole.createPolicy({ name: "p", model, adapter });
    await whole.forwardBackward(data, { type: "cross_entropy" });
    await whole.optimStep("p", adam);
    expect(found).toEqual(await whole.sample(request({ policy: "p" })));
    for (const each of [engine, whole]) await each.close();
  });

  it("of the worker after config.json was edited: another model does not take its place", async () => {
    const { engine } = openKilled({ verb: "optimStep", when: "after" });
    const own = await makeModel(temporaryFolder(), "own");
    await engine.createPolicy({ name: "p", model: own });
    await engine.forwardBackward(data, { type: "cross_entropy" });
    const config = JSON.parse(readFileSync(path.join(own, "config.json"), "utf8")) as object;
    writeFileSync(path.join(own, "config.json"), JSON.stringify({ ...config, rms_norm_eps: 0.1 }));
    await engine.optimStep("p", adam);
    expect(await failure("service", () => engine.sample(request({ policy: "p" })))).toMatch(
      /config\.json was removed or replaced/,
    );
    await engine.close();
  });

  it("of its parent: the worker ends, too", async () => {
    const parent = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await new Promise<[string]>((resolve) =>
      createInterface({ input: parent.stdout }).once("line", (text) => resolve([text])),
    );
    const worker = Number(line);
    expect(isAlive(worker)).toBe(true);
    parent.kill("SIGKILL");
    while (isAlive(worker)) await sleep(50);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * SkyRL's server with its JAX backend, unmodified, on this machine's processor: TROUPE_SKYRL_PYTHON is the Python of an
 * environment that bin/skyrl-jax.sh made. Skipped without.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { projections } from "../../models/adapter-options.ts";
import { profiles } from "./profiles/profiles.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const python = process.env["TROUPE_SKYRL_PYTHON"];
const folder = temporaryFolder();
const servers: ChildProcess[] = [];

afterAll(async () => {
  for (const server of servers) {
    const { pid } = server;
    if (pid === undefined || server.exitCode !== null) continue;
    const ended = once(server, "exit");
    process.kill(-pid, "SIGTERM");
    await ended;
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** The server reads its parent's command line, which must be `uv run`; it and its engine form a group of processes. */
async function start(model: string): Promise<string> {
  const port = await freePort();
  const environment = dirname(dirname(python ?? ""));
  const uv = "run --active --frozen --no-sync -m skyrl.tinker.api --backend jax --host 127.0.0.1".split(" ");
  const options = {
    port: String(port),
    "base-model": model,
    "checkpoints-base": join(folder, "checkpoints"),
    "database-url": `sqlite:///${join(folder, "server.db")}`,
    "backend-config": JSON.stringify({ max_lora_adapters: 4, max_lora_rank: 8 }),
  };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const path = [join(environment, "bin"), process.env["PATH"] ?? ""].join(delimiter);
  const server = spawn(join(environment, "bin", "uv"), [...uv, ...words], {
    cwd: folder,
    detached: true,
    stdio: "ignore",
    env: { ...process.env, VIRTUAL_ENV: environment, PATH: path, JAX_PLATFORMS: "cpu" },
  });
  servers.push(server);
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const answer = await fetch(`${url}/api/v1/healthz`).catch(() => null);
    if (answer?.ok === true) return url;
    if (server.exitCode !== null) throw new Error(`SkyRL ended with ${server.exitCode}`);
    await setTimeout(500);
  }
}

it.skipIf(python === undefined)(
  "trains, samples, scores, saves and restores an adapter",
  { timeout: 600_000 },
  async () => {
    const model = await makeModel(folder, "tiny");
    const engine = new TinkerEngine({ url: await start(model), profile: profiles["skyrl-jax"] });
    const adapter = { rank: 4, alpha: 32, targetModules: projections, seed: 1 };
    await engine.createPolicy({ name: "p", model, adapter });
    const prompt = Int32Array.of(1, 6, 7);
    const continuation = { tokens: Int32Array.of(8, 9), weights: Float32Array.of(1, 1) };
    const data = [{ policy: "p", prompt, continuations: [continuation] }];
    const adam = { learningRate: 0.003, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 0 };
    const losses: number[] = [];
    for (let step = 0; step < 6; step++) {
      losses.push((await engine.forwardBackward(data, { type: "cross_entropy" })).loss);
      await engine.optimStep("p", adam);
    }
    expect(losses.at(-1)).toBeLessThan(0.9 * (losses[0] ?? 0));
    const request = { policy: "p", prompt, count: 2, maxTokens: 4, temperature: 1, seed: 2 ** 50 + 1 };
    const [sampled] = await engine.sample(request);
    if (sampled === undefined) throw new Error("nothing was sampled");
    const again = { policy: "p", prompt, continuations: [{ tokens: sampled.tokens }] };
    const scored = (await engine.forward([again])).logprobs[0];
    // Sampling and scoring sum in different orders, in float32.
    sampled.logprobs.forEach((each, index) => expect(scored?.[index]).toBeCloseTo(each, 3));
    const saved = await engine.checkpoint("p", { folder, name: "p" });
    await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.optimStep("p", adam);
    await engine.restore("p", { saved, folder });
    const restored = (await engine.forward([again])).logprobs[0];
    expect([...(restored ?? [])]).toEqual([...(scored ?? [])]);
    await engine.close();
  },
);

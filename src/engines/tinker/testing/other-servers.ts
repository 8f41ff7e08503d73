/** Servers that other projects wrote, started for a test, and what each must do for an adapter. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { projections } from "../../../models/adapter-options.ts";
import type { Engine } from "../../engine.ts";

export interface OtherServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface Started {
  /** Program and arguments. */
  readonly command: readonly string[];
  readonly port: number;
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Returns once it answers. It and its own processes form a group, which is ended as a whole. */
export async function startOther({ command, port, folder, environment }: Started): Promise<OtherServer> {
  const [program = "", ...given] = command;
  const server = spawn(program, given, {
    cwd: folder,
    detached: true,
    stdio: "ignore",
    env: { ...process.env, ...environment },
  });
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const answer = await fetch(`${url}/api/v1/healthz`).catch(() => null);
    if (answer?.ok === true) return { url, stop: () => end(server) };
    if (server.exitCode !== null) throw new Error(`${program} ended with ${server.exitCode}`);
    await setTimeout(500);
  }
}

async function end(server: ChildProcess): Promise<void> {
  const { pid } = server;
  if (pid === undefined || server.exitCode !== null) return;
  const ended = once(server, "exit");
  process.kill(-pid, "SIGTERM");
  await ended;
}

/** Trains, samples, scores, saves and restores an adapter on a model of test-model.ts. */
export async function checkAdapter(engine: Engine, model: string, alpha: number): Promise<void> {
  const adapter = { rank: 4, alpha, targetModules: projections, seed: 1 };
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
  const saved = await engine.checkpoint("p", { folder: model, name: "p" });
  await engine.forwardBackward(data, { type: "cross_entropy" });
  await engine.optimStep("p", adam);
  await engine.restore("p", { saved, folder: model });
  const restored = (await engine.forward([again])).logprobs[0];
  expect([...(restored ?? [])]).toEqual([...(scored ?? [])]);
}

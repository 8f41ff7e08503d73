/** Logging services cannot slow down or stop a training: it runs the same with all of them hanging. */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { setTimeout as delay } from "node:timers/promises";
import { startLogging } from "../src/logging/start.ts";
import { loggingSettings } from "../src/logging/settings.ts";
import { startCollector } from "../src/logging/testing/collector.ts";
import type { RecipeInput } from "../src/recipes/schema.ts";
import { HashEngine } from "../src/train/testing/hash-engine.ts";
import { recordsOf } from "../src/train/testing/records-of.ts";
import { tinyRecipe, wordsOf } from "../src/train/testing/tiny-recipe.ts";
import { train } from "../src/train/run.ts";

let root = "";
beforeEach(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-logging-"));
});
afterEach(() => fs.rm(root, { recursive: true, maxRetries: 5, retryDelay: 200 }));

async function trained(name: string, logging?: RecipeInput["logging"]) {
  const resolved = tinyRecipe(logging === undefined ? {} : { logging });
  const engine = new HashEngine({ vocabularySize: wordsOf(resolved).length + 6, endToken: 2 });
  const warnings: string[] = [];
  const { status } = await train({
    ...resolved,
    directory: path.join(root, name),
    engine,
    onEvent: (event) => event.type === "warning" && event.key === "logging" && warnings.push(event.problem),
  });
  return { status, warnings };
}

/** Without the recipe, which names the services, and what those wrote. */
async function trainingRecords(name: string) {
  const all = Object.entries(await recordsOf(path.join(root, name)));
  return all.filter(([file]) => file !== "recipe.yaml" && !file.startsWith("logging"));
}

const loggingFolder = (name: string) => path.join(root, name, "logging");

/** The processes that send the run's records: they hold the lock of its `logging` folder. */
async function senders(name: string): Promise<number[]> {
  const files = await fs.readdir(loggingFolder(name)).catch(() => []);
  return files.flatMap((file) => /^lock-(\d+)-/.exec(file)?.[1] ?? []).map(Number);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(20);
}

it("a training with hanging services has the same records", async () => {
  await using silent = await startCollector(() => {});
  const python = path.join(root, "hanging-python");
  await fs.writeFile(python, "#!/bin/sh\nexec cat > /dev/null\n", { mode: 0o755 });
  await trained("without");
  const logging = { tensorboard: true, wandb: { python }, otlp: { endpoint: silent.endpoint } };
  expect((await trained("with", logging)).status).toBe("finished");
  expect(await trainingRecords("with")).toEqual(await trainingRecords("without"));
  // Both services got something, and the sending process is still there.
  await until(async () => silent.received.length > 0);
  const [sender = 0] = await senders("with");
  expect(process.kill(sender, "SIGKILL")).toBe(true);
});

it("the process ends after the run, and writes no key anywhere", async () => {
  const key = "hunter2-hunter2";
  await using collector = await startCollector((_, response) => {
    response.writeHead(401).end(`wrong key: ${key}`);
  });
  await trained("tiny");
  const said: string[] = [];
  const settings = loggingSettings.parse({
    tensorboard: true,
    wandb: { python: "no-such-python" },
    otlp: { endpoint: collector.endpoint },
  });
  const variables = { OTEL_EXPORTER_OTLP_HEADERS: `authorization=${key}`, OTHER_SERVICE_KEY: "other" };
  Object.assign(process.env, variables);
  const logging = startLogging(path.join(root, "tiny"), settings, (problem) => said.push(problem));
  for (const name of Object.keys(variables)) delete process.env[name];
  await until(async () => said.length === 2);
  logging.end();
  await until(async () => (await senders("tiny")).length === 0);
  expect(collector.received[0]?.headers["authorization"]).toBe(key);
  expect(said.toSorted()).toEqual([
    `OTLP: ${collector.endpoint}/v1/traces answered 401: wrong key: [OTEL_EXPORTER_OTLP_HEADERS]`,
    "W&B: no-such-python cannot be started: spawn no-such-python ENOENT",
  ]);
  const problems = await fs.readFile(path.join(loggingFolder("tiny"), "problems.jsonl"), "utf8");
  expect(
    problems
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { problem: string }).problem),
  ).toEqual(said);
  const [events = ""] = await fs.readdir(path.join(loggingFolder("tiny"), "tensorboard"));
  const written = await fs.readFile(path.join(loggingFolder("tiny"), "tensorboard", events));
  expect(written.includes("policies/shared/loss")).toBe(true);
});

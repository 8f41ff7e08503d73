/** Checkpoints of the real engine. */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openEngine } from "../engines/open.ts";
import type { JsonObject } from "../text/files.ts";
import { modelDirectory, openPolicies } from "./policies.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import { train } from "./run.ts";
import type { TrainOutcome } from "./run.ts";

let directory = "";
beforeEach(async () => {
  directory = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-policies-"));
});
afterEach(() => fs.rm(directory, { recursive: true }));

async function trainUntil(step: number): Promise<TrainOutcome> {
  const engine = openEngine({ threads: 1, precision: "float32" });
  const stop = new AbortController();
  try {
    return await train({
      ...tinyRecipe({ warmStart: undefined, evaluation: { tasks: 1 } }),
      directory: path.join(directory, "run"),
      engine,
      onEvent: (event) => {
        if (event.type === "step" && event.metrics.step === step) stop.abort();
      },
      stop: stop.signal,
    });
  } finally {
    await engine.close();
  }
}

test.each(["shared.optimizer", "shared/model.safetensors"])(
  "a checkpoint without %s is damaged",
  async (file) => {
    expect(await trainUntil(2)).toMatchObject({ status: "interrupted", checkpoint: 2 });
    await fs.rm(path.join(directory, "run/checkpoints/step-2", file));
    await expect(trainUntil(4)).rejects.toMatchObject({
      code: "bad_run",
      message: expect.stringMatching(
        /step-2 is damaged: shared\S* is missing\. There is no earlier one/,
      ) as string,
    });
  },
);

test("a preset's model that cannot be written is an error that says what to do", async () => {
  const { recipe, environment } = tinyRecipe();
  await fs.writeFile(path.join(directory, "models"), "");
  const made = modelDirectory({ preset: "nano" }, recipe, environment, path.join(directory, "models"));
  await expect(made).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringMatching(/^Cannot write .*models.*: a file is in the way/) as string,
  });
});

test("a policy's template variables reach its chat template", async () => {
  const { recipe, environment } = tinyRecipe();
  const models = path.join(directory, "models");
  const model = await modelDirectory({ preset: "nano" }, recipe, environment, models);
  const file = path.join(model, "tokenizer_config.json");
  const config = JSON.parse(await fs.readFile(file, "utf8")) as object;
  const template = "{{ 'no thoughts' if enable_thinking is false else 'thoughts' }}";
  await fs.writeFile(file, JSON.stringify({ ...config, chat_template: template }));
  await fs.rm(path.join(model, "chat_template.jinja"), { force: true });
  const policies = {
    quiet: { model: { path: model }, templateVariables: { enable_thinking: false } },
    usual: { model: { path: model } },
  };
  const engine = openEngine({ threads: 1 });
  try {
    const opened = await openPolicies(engine, { ...recipe, policies }, environment, models);
    expect(opened["quiet"]?.tokenizer.render([], true)).toBe("no thoughts");
    expect(opened["usual"]?.tokenizer.render([], true)).toBe("thoughts");
  } finally {
    await engine.close();
  }
});

test("a model without a chat template is rejected before its weights are read", async () => {
  const { recipe, environment } = tinyRecipe();
  const models = path.join(directory, "models");
  const model = await modelDirectory({ preset: "nano" }, recipe, environment, models);
  const file = path.join(model, "tokenizer_config.json");
  const { chat_template: _, ...config } = JSON.parse(await fs.readFile(file, "utf8")) as JsonObject;
  await fs.writeFile(file, JSON.stringify(config));
  await fs.rm(path.join(model, "chat_template.jinja"), { force: true });
  await fs.rm(path.join(model, "model.safetensors"));
  const policies = { shared: { model: { path: model } } };
  const engine = openEngine({ threads: 1 });
  try {
    await expect(openPolicies(engine, { ...recipe, policies }, environment, models)).rejects.toMatchObject({
      code: "bad_model",
      message: expect.stringMatching(/has no chat template: add chat_template\.jinja/) as string,
    });
  } finally {
    await engine.close();
  }
});

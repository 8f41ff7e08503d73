/** Checkpoints of the real engine. */
import fs from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { openEngine } from "../engines/open.ts";
import { temporaryFolder } from "../models/test-model.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { JsonObject } from "../text/files.ts";
import { modelDirectory, openPolicies } from "./policies.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import { train } from "./run.ts";
import type { TrainOutcome } from "./run.ts";

const root = temporaryFolder();
const { recipe, environment } = tinyRecipe();

async function trainUntil(step: number, run: string): Promise<TrainOutcome> {
  const engine = openEngine({ threads: 1, precision: "float32" });
  const stop = new AbortController();
  try {
    return await train({
      ...tinyRecipe({ warmStart: undefined, evaluation: { tasks: 1 } }),
      directory: path.join(root, run),
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

test("a checkpoint without a file is damaged", async () => {
  expect(await trainUntil(2, "run")).toMatchObject({ status: "interrupted", checkpoint: 2 });
  for (const [index, file] of ["shared.optimizer", "shared/model.safetensors"].entries()) {
    await fs.cp(path.join(root, "run"), path.join(root, `copy-${index}`), { recursive: true });
    await fs.rm(path.join(root, `copy-${index}`, "checkpoints", "step-2", file));
    await expect(trainUntil(4, `copy-${index}`)).rejects.toMatchObject({
      code: "bad_run",
      message: expect.stringMatching(
        /step-2 is damaged: shared\S* is missing\. There is no earlier one/,
      ) as string,
    });
  }
});

test("a preset's model that cannot be written is an error that says what to do", async () => {
  const file = path.join(root, "file");
  await fs.writeFile(file, "");
  await expect(modelDirectory({ preset: "nano" }, recipe, environment, file)).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringMatching(/^Cannot write .*file.*: a file is in the way/) as string,
  });
});

/** A model without its template's file, and its configuration. */
async function untemplated(name: string) {
  const models = path.join(root, name);
  const model = await modelDirectory({ preset: "nano" }, recipe, environment, models);
  const file = path.join(model, "tokenizer_config.json");
  const { chat_template: _, ...config } = JSON.parse(await fs.readFile(file, "utf8")) as JsonObject;
  await fs.rm(path.join(model, "chat_template.jinja"), { force: true });
  const open = async (template: object, policies: Recipe["policies"]) => {
    await fs.writeFile(file, JSON.stringify({ ...config, ...template }));
    const engine = openEngine({ threads: 1 });
    try {
      return await openPolicies(engine, { ...recipe, policies }, environment, models);
    } finally {
      await engine.close();
    }
  };
  return { model, open };
}

test("a policy's template variables reach its chat template", async () => {
  const { model, open } = await untemplated("variables");
  const template = "{{ 'no thoughts' if enable_thinking is false else 'thoughts' }}";
  const policies = {
    quiet: { model: { path: model }, templateVariables: { enable_thinking: false } },
    usual: { model: { path: model } },
  };
  const opened = await open({ chat_template: template }, policies);
  expect(opened["quiet"]?.tokenizer.render([], true)).toBe("no thoughts");
  expect(opened["usual"]?.tokenizer.render([], true)).toBe("thoughts");
});

test("a model without a chat template is rejected before its weights are read", async () => {
  const { model, open } = await untemplated("none");
  await fs.rm(path.join(model, "model.safetensors"));
  await expect(open({}, { shared: { model: { path: model } } })).rejects.toMatchObject({
    code: "bad_model",
    message: expect.stringMatching(/has no chat template: add chat_template\.jinja/) as string,
  });
});

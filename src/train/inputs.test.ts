import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { checkModel } from "../models/model-digests.ts";
import { openRun } from "../runs/run.ts";
import { noteModels } from "./inputs.ts";

const folder = temporaryFolder();

function model(name: string, files: Readonly<Record<string, string>>): string {
  const directory = path.join(folder, name);
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(directory, file), text);
  return directory;
}

const whole = { "config.json": "{}", "model.safetensors": "weights", "README.md": "of it" };

async function begun(name: string, directory: string): Promise<string> {
  await using run = await openRun(path.join(folder, "runs", name), "name: a\n");
  const policies = { solver: { model: { path: directory } }, other: { model: { preset: "nano" } } };
  await noteModels({ policies }, run);
  writeFileSync(run.layout.metrics, '{"schema_version":1}\n');
  return run.layout.directory;
}

it("a run's model is recognised wherever it is, whatever else lies in its folder", async () => {
  const run = await begun("moved", model("here/base", whole));
  await checkModel(run, "solver", model("there/base", { ...whole, "README.md": "changed" }));
  symlinkSync(path.join(folder, "here", "base"), path.join(folder, "link"));
  await checkModel(run, "solver", path.join(folder, "link"));
  await checkModel(run, "other", path.join(folder, "nowhere"));
  expect(readFileSync(path.join(run, "models.jsonl"), "utf8")).not.toContain(folder);
});

it.each([
  ["changed", { ...whole, "model.safetensors": "Weights" }, "model.safetensors"],
  ["incomplete", { "config.json": "{}" }, "model.safetensors"],
  ["with more", { ...whole, "chat_template.jinja": "{}" }, "chat_template.jinja"],
])("another model of the same name is rejected: %s", async (name, files, differs) => {
  const run = await begun(name, model("one/base", whole));
  const other = model(`${name}/base`, files);
  await expect(checkModel(run, "solver", other)).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringContaining(`started from: ${differs} differs`) as string,
  });
});

it("a base below an adapter counts, and a resumed run is checked", async () => {
  model("lora/base", whole);
  const adapter = { "adapter_config.json": JSON.stringify({ base_model_name_or_path: "../base" }) };
  const directory = model("lora/adapter", adapter);
  await begun("resumed", directory);
  model("lora/base", { "model.safetensors": "trained further" });
  await expect(begun("resumed", directory)).rejects.toThrow("base/model.safetensors differs");
});

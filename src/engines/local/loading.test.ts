import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readModelShape } from "../../models/model-config.ts";
import { makeModel, temporaryFolder, tinyPreset, vocabularySize } from "../../models/test-model.ts";
import { testEngine } from "./test-engine.ts";

const folder = temporaryFolder();

test.each(["LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"] as const)(
  "%s loads",
  async (architecture) => {
    const preset = { ...tinyPreset, architecture, tiedEmbeddings: false };
    const directory = await makeModel(folder, `made-${architecture}`, { preset });
    const engine = testEngine();
    const info = await engine.createPolicy({ name: "p", model: directory });
    const shape = readModelShape(
      "config.json",
      JSON.parse(readFileSync(join(directory, "config.json"), "utf8")),
    );
    expect(info).toMatchObject({ vocabularySize, maxLength: 64, parameters: info.trainableParameters });
    expect(shape.queryKeyNorm).toBe(architecture === "Qwen3ForCausalLM");
  },
);

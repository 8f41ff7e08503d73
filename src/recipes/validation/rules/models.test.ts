import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { resolveRecipe } from "../../resolve.ts";

it("rejects a preset for an environment without words before anything is written", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-models-"));
  const file = join(directory, "quiz.yaml");
  writeFileSync(
    file,
    `name: quiz
environment: { module: ${JSON.stringify(resolve("src/environments/examples/quiz.ts"))}, export: quiz }
team: { roles: { researcher: { policy: shared }, writer: { policy: shared } }, turns: 1 }
policies: { shared: { model: { preset: nano } } }
algorithm: { name: at-grpo }
train: { steps: 1, tasksPerStep: 1, learningRate: 0.001 }
`,
  );
  await expect(resolveRecipe(file)).rejects.toThrow(
    /policies\.shared\.model\.preset: a preset's tokenizer is made of an environment's words, and quiz lists none/,
  );
  rmSync(directory, { recursive: true });
});

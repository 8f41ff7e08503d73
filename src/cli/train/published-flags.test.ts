import { expect, it } from "vitest";
import { type Outcome, runCommand } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

const rows = ["one", "two"].map((name) => ({
  task_id: `made/${name}`,
  prompt: `def ${name}():\n    """Gives ${name}."""\n`,
  entry_point: name,
  test: `def check(candidate):\n    assert candidate() == "${name}"\n`,
}));

const recipe = `extends: code/mt-magrpo-he
environment:
  dataset: { files: { test: rows.jsonl }, form: humaneval }
  splits: { train: "test[:1]", heldOut: "test[1:]" }
`;

const cwd = folderWith({
  "rows.jsonl": rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
  "mine.yaml": recipe,
});

function train(...more: string[]): Promise<Outcome> {
  return runCommand(["train", "mine.yaml", "--dry-run", ...more], { cwd });
}

it("flags win over --override, which wins over overrides before it and the file", async () => {
  const all = ["magrpo.num_turns=3", "--override", "magrpo.num_turns=4", "--num_turns", "5"];
  expect((await train(...all)).stderr).toContain("2 turn weights for a team of 5 turns");
  expect((await train(...all.slice(0, 3))).stderr).toContain("2 turn weights for a team of 4 turns");
  expect((await train(...all.slice(0, 1))).stderr).toContain("2 turn weights for a team of 3 turns");
  // Repeated lists combine; in the published scripts the last one alone counts.
  const repeated = ["--override", "magrpo.num_turns=4", "--override", "train.steps=x", "seed=y"];
  const { stderr } = await train(...repeated);
  expect(stderr).toContain("override `train.steps=x`");
  expect(stderr).toContain("override `seed=y`");
  const weights = await train("--num_turns", "3", "--turn_gradient_weights", "1.2", "0.8", "1");
  expect(weights.stderr).not.toContain("turn weights");
});

it("a model that is missing is to be fetched into a folder of that name", async () => {
  const { code, stderr } = await runCommand(
    ["train", "mine.yaml", "--model_name", "Qwen/Qwen2.5-Coder-7B", "--num_epochs", "2"],
    { cwd },
  );
  expect(code).toBe(2);
  expect(stderr).toContain("override `model.name=Qwen/Qwen2.5-Coder-7B`: policies.main.model.path: ");
  expect(stderr).toContain("models/Qwen2.5-Coder-7B does not exist");
  expect(stderr).toContain("`hf download Qwen/Qwen2.5-Coder-7B --local-dir models/Qwen2.5-Coder-7B`");
});

it("tasks, score and play accept --override too", async () => {
  const { stderr } = await runCommand("tasks mine.yaml --override magrpo.num_turn=2", { cwd });
  expect(stderr).toContain("magrpo.num_turn: unknown key; did you mean `magrpo.num_turns`?");
});

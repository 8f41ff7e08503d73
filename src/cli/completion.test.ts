import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { candidates } from "./completion.ts";
import { makeProgram } from "./program.ts";
import { shell } from "./testing/command.ts";

const completed = (...words: readonly string[]) => candidates(makeProgram(), words);

it("completes commands, inner commands, options, recipes and environments", () => {
  expect(completed("tr")).toEqual(["train"]);
  expect(completed("")).not.toContain("complete");
  expect(completed("runs", "c")).toEqual(["compare"]);
  expect(completed("train", "--dr")).toEqual(["--dry-run"]);
  expect(completed("train", "plan-path-s")).toContain("plan-path-single");
  expect(completed("train", "plan-path", "plan-path-s")).toEqual([]);
  expect(completed("train", "--runs", "elsewhere", "plan-path-s")).toContain("plan-path-single");
  expect(completed("play", "word-")).toContain("word-problems");
  expect(completed("completion", "z")).toEqual(["zsh"]);
});

it.runIf(spawnSync("bash", ["--version"]).status === 0)(
  "bash asks for the word under the cursor",
  async () => {
    const line = `bash -c 'eval "$(troupe completion bash)"; COMP_WORDS=(troupe runs ex); COMP_CWORD=2; _troupe; echo "$COMPREPLY"'`;
    expect(await shell(line, { cwd: tmpdir() })).toMatchObject({ code: 0, stdout: "export\n" });
  },
);

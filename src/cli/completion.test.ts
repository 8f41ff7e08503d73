import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

it("completes runs of the folder that --runs names, and values of options", async () => {
  const folder = await mkdtemp(join(tmpdir(), "troupe complete ü "));
  for (const name of ["first", "second"]) await mkdir(join(folder, name));
  await writeFile(join(folder, "first", "recipe.yaml"), "");
  expect(completed("runs", "plot", "--runs", folder, "")).toEqual(["first"]);
  expect(completed("runs", "plot", `--runs=${folder}`, "f")).toEqual(["first"]);
  expect(completed("play", "--runs", folder, "--run", "")).toEqual(["first"]);
  expect(completed("train", "--runs", "")).toEqual([]);
  await rm(folder, { recursive: true });
});

/** Each prints what the shell offers for `troupe runs ex`. */
const shells = {
  bash: `eval "$(troupe completion bash)"; COMP_WORDS=(troupe runs ex); COMP_CWORD=2; _troupe; echo "$COMPREPLY"`,
  // The functions that only exist while a line is edited are replaced by ones that print.
  zsh: `autoload -U compinit; compinit -D -u; eval "$(troupe completion zsh)"; [[ $_comps[troupe] == _troupe ]] || exit 1; compadd() { print -- $2 }; words=(troupe runs ex); CURRENT=3; _troupe`,
  fish: `troupe completion fish | source; complete -C "troupe runs ex"`,
};

for (const [name, script] of Object.entries(shells)) {
  const isHere = spawnSync(name, ["--version"]).status === 0;
  it.runIf(isHere)(`${name} offers what fits the word under the cursor`, async () => {
    const options = name === "zsh" ? "-f -c" : "-c";
    expect(await shell(`${name} ${options} '${script}'`, { cwd: tmpdir() })).toMatchObject({
      code: 0,
      stdout: "export\n",
    });
  });
}

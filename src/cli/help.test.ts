/** What the program says of itself: help, completions, keys of recipes, the reference. */
import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readdirSync, readFileSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, it, vi } from "vitest";
import { withoutIdleHelp } from "./help.ts";
import { makeProgram } from "./program.ts";
import { visibleLength } from "./table.ts";
import { candidates } from "./completion.ts";
import { shell } from "./testing/command.ts";
import { folderWith } from "./testing/folder.ts";
import { keySections } from "../recipes/keys.ts";
import { resolveRecipe } from "../recipes/resolve.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import { keyLines } from "./recipes/recipes.ts";
import { referenceFolder, referencePages } from "./reference.ts";

function helpOf(command: Command, helpWidth: number): string[] {
  const helper = command.createHelp();
  helper.prepareContext({ helpWidth });
  return helper.formatHelp(command, helper).split("\n");
}

const program = makeProgram();
const commands = [program, ...program.commands, ...program.commands.flatMap((each) => each.commands)];

describe("help", () => {
  it.each([60, 80])("fits a terminal of %d columns", (width) => {
    const long = commands.flatMap((command) =>
      helpOf(command, width).filter((line) => visibleLength(line) > width),
    );
    expect(long).toEqual([]);
  });

  it("is given about help as by itself", () => {
    expect(withoutIdleHelp(program, ["help", "--help"])).toEqual(["help"]);
    expect(withoutIdleHelp(program, ["help", "train", "-h"])).toEqual(["help", "train"]);
  });

  it("is not given for a command that does not exist", () => {
    for (const argv of [
      ["trian", "--help"],
      ["trian", "-h"],
      ["help", "trian"],
    ]) {
      expect(withoutIdleHelp(program, argv)).toEqual(["trian"]);
    }
    expect(withoutIdleHelp(program, ["runs", "compar", "--help"])).toEqual(["runs", "compar"]);
    for (const argv of [
      ["--help"],
      ["help"],
      ["help", "train"],
      ["train", "x", "--help"],
      ["runs", "compare", "-h"],
      [],
    ]) {
      expect(withoutIdleHelp(program, argv)).toBe(argv);
    }
  });
});

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
  const folder = join(folderWith(), "complete ü");
  await mkdir(folder);
  for (const name of ["first", "second"]) await mkdir(join(folder, name));
  await writeFile(join(folder, "first", "recipe.yaml"), "");
  expect(completed("runs", "plot", "--runs", folder, "")).toEqual(["first"]);
  expect(completed("runs", "plot", `--runs=${folder}`, "f")).toEqual(["first"]);
  expect(completed("play", "--runs", folder, "--run", "")).toEqual(["first"]);
  expect(completed("train", "--runs", "")).toEqual([]);
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

describe("troupe recipes --keys", () => {
  it("describes every key in a few words", () => {
    const rows = keySections().flatMap((section) => section.rows);
    expect(rows.length).toBeGreaterThan(200);
    for (const { key, meaning } of rows)
      expect({ key, meaning }).toMatchObject({ meaning: expect.stringMatching(/\S/) as string });
  });

  it("shows value, default and meaning, within the terminal", () => {
    const lines = keyLines("plan-path", 60);
    expect(lines).toContain("size: integer 3 to 26; default 10");
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    expect(() => keyLines("sudoko", 60)).toThrow("did you mean `sudoku`?");
  });
});

// These name data sets and models that are not here: tests/included-recipes.slow.test.ts, tests/tools.test.ts.
const elsewhere = /^(cluster|code|math|data-science|at-grpo-games|questions)\//;
const shipped = Object.entries(shippedRecipes()).filter(([name]) => !elsewhere.test(name));
it.each(shipped)("the included recipes %s is valid", async (name, file) => {
  const { recipe } = await resolveRecipe(file);
  expect(recipe.name).toBe(name.replace("/", "-"));
  expect(recipe.description).not.toBe("");
  expect(file).toBe(join(import.meta.dirname, "..", "..", "recipes", `${name}.yaml`));
});

const pages = referencePages();

/** In a row of a table. */
const cells = (line: string): number => line.replaceAll("\\|", "").split("|").length;

describe("docs/reference", () => {
  it.each(Object.entries(pages))("%s is current; `npm run reference` updates it", (name, text) => {
    expect(readFileSync(join(referenceFolder, name), "utf8")).toBe(text);
  });

  it("has no other pages", () => {
    expect(readdirSync(referenceFolder).toSorted()).toEqual(Object.keys(pages).toSorted());
  });

  it("is the same from another terminal, and in an npm script", () => {
    const environment = { COLUMNS: "40", FORCE_COLOR: "1", npm_lifecycle_event: "reference" };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    expect(referencePages()).toEqual(pages);
  });

  it("has a section for every command and subcommand", () => {
    const sections = [...(pages["commands.md"] ?? "").matchAll(/^## (.+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(expect.arrayContaining(["train", "runs rm", "coach attacks", "completion"]));
    expect(new Set(sections).size).toBe(sections.length);
  });

  it("has tables whose rows all have the same number of cells", () => {
    for (const text of Object.values(pages))
      for (const block of text.split("\n\n").filter((each) => each.startsWith("| "))) {
        const counts = block.trimEnd().split("\n").map(cells);
        expect(new Set(counts).size).toBe(1);
      }
  });
});

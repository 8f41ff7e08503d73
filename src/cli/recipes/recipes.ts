/** `troupe recipes`: the included recipes, one of them, and the JSON Schema of recipes. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { command } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { showShare } from "../../format.ts";
import { didYouMean } from "../../nearest.ts";
import { keySections, type KeyRow } from "../../recipes/keys.ts";
import { recipeShape } from "../../recipes/resolve.ts";
import { findRecipe, shippedRecipes } from "../../recipes/shipped.ts";
import { printJson, printLines } from "../print.ts";
import { terminalWidth, wrapped } from "../table.ts";
import { folderLines, listLines, describe, counted, trained, type Listed } from "./list.ts";

interface RecipesArguments {
  readonly schema?: boolean;
  readonly keys?: boolean;
  readonly json?: boolean;
}

export function recipesCommand(): Command {
  return new Command("recipes")
    .description("list the included recipes, or show one")
    .argument("[name]", "a recipe to show, or a folder to list: algorithms, scaling, …")
    .option("--schema", "print the JSON Schema of recipes, for completion in an editor")
    .option(
      "--keys",
      "print every key of a recipe, or the options of NAME: an environment, algorithm, judge or tool",
    )
    .option("--json", "print one JSON document")
    .action((name: string | undefined, options: RecipesArguments) => {
      if (options.schema) return printJson(recipeShape());
      if (options.keys) return printLines(keyLines(name ?? "recipe", terminalColumns()));
      return name === undefined ? list(options) : show(name.replace(/\/$/, ""), options);
    });
}

function list({ json }: RecipesArguments): void {
  const recipes = Object.entries(shippedRecipes()).map(([name, file]) => describe(name, file));
  if (json) printJson(recipes);
  else printLines(listLines(recipes, terminalColumns()));
}

/** A folder's list, or one recipe. @throws TroupeError `bad_arguments` if it is neither */
function show(name: string, { json }: RecipesArguments): void {
  const inFolder = Object.entries(shippedRecipes()).filter(([each]) => each.startsWith(`${name}/`));
  if (inFolder.length === 0) return showOne(findRecipe(name), json === true);
  const recipes = inFolder.map(([each, file]) => describe(each, file));
  if (json) printJson(recipes);
  else printLines(folderLines(name, recipes, terminalColumns()));
}

function showOne(file: string, json: boolean): void {
  const name = Object.entries(shippedRecipes()).find(([, each]) => each === file)?.[0] ?? file;
  const listed = describe(name, file);
  if (json) printJson(listed);
  else printLines(recipeLines(listed, readFileSync(file, "utf8"), terminalColumns()));
}

function terminalColumns(): number {
  return Math.min(terminalWidth(), 120);
}

/** @param text the recipe's file */
function recipeLines(recipe: Listed, text: string, width: number): string[] {
  const { name, file, description, environment, algorithm } = recipe;
  const what = algorithm === null ? "no reinforcement" : `${algorithm} trains ${trained(recipe)}`;
  return [
    ...wrapped(`${name}: ${description}`, width),
    `${environment || "unreadable"}; ${what}${expected(recipe)}`,
    "",
    `${file}:`,
    "",
    ...text.trimEnd().split("\n"),
    "",
    `${command("train", name, "--dry-run")}   every value, and an estimate of its cost on this machine`,
    `${command("train", name)}             trains it`,
  ];
}

function expected({ minutes, success }: Listed): string {
  const facts = [
    ...(minutes === null ? [] : [`${counted(minutes, "minute")} on two cores`]),
    ...(success === null ? [] : [`${showShare(success)} of held-out tasks`]),
  ];
  return facts.length === 0 ? "" : `; expected: ${facts.join(", ")}`;
}

/** @throws TroupeError `bad_arguments` if nothing of that name has options */
export function keyLines(name: string, width: number): readonly string[] {
  const sections = keySections();
  const names = sections.map((section) => section.name);
  const chosen = sections.find((section) => section.name === name);
  if (chosen === undefined) {
    const hint = didYouMean(name, names) ?? `there are ${names.join(", ")}`;
    throw new TroupeError("bad_arguments", `${name} has no keys; ${hint}`);
  }
  const others =
    name === "recipe"
      ? [
          "",
          ...wrapped(
            `${command("recipes", "--keys", "NAME")} for the options of: ${names.slice(1).join(", ")}`,
            width,
          ),
        ]
      : [];
  return [
    ...wrapped(chosen.title, width),
    "",
    ...chosen.rows.flatMap((row) => rowLines(row, width)),
    ...others,
  ];
}

function rowLines({ key, value, fallback, meaning }: KeyRow, width: number): readonly string[] {
  const origin = fallback === "" || fallback === "required" ? fallback : `default ${fallback}`;
  const head = [`${key}: ${value}`, ...(origin === "" ? [] : [origin])].join("; ");
  const text = meaning === "" ? [] : wrapped(meaning, width - 4);
  return [...wrapped(head, width), ...text.map((line) => `    ${line}`)];
}

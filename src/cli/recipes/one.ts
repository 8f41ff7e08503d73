/** One recipe: what it demonstrates, its file verbatim, and what to do with it. */
import { showShare } from "../../format.ts";
import { wrapped } from "../table.ts";
import { counted, type Listed, trained } from "./listed.ts";
import { command } from "../../command-line.ts";

/** @param text the recipe's file */
export function recipeLines(recipe: Listed, text: string, width: number): string[] {
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

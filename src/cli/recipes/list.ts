/** Tables of recipes: one for all environments, and one per folder of recipes. */
import { posix } from "node:path";
import { environments } from "../../environments/registry.ts";
import { shippedExperiments } from "../../experiments/shipped.ts";
import { showShare } from "../../format.ts";
import { tableLines, wrapped } from "../table.ts";
import { type Listed, trained } from "./listed.ts";
import { command } from "../../command-line.ts";

/** One table with each environment's recipes below its name, and one for each folder of recipes. */
export function listLines(recipes: readonly Listed[], width: number): string[] {
  const { ".": main = [], ...folders } = Object.groupBy(recipes, ({ name }) => posix.dirname(name));
  const legend =
    "minutes on two cores and success on held-out tasks after training, as measured; –: not measured";
  return [
    ...mainLines(main, width),
    ...Object.entries(folders).flatMap(([folder, listed = []]) => [
      "",
      "",
      ...folderLines(folder, listed, width),
    ]),
    "",
    ...wrapped(legend, width),
    "",
    `${command("recipes", "NAME")}           shows a recipe's file, or lists a folder`,
    `${command("train", "NAME", "--dry-run")}   estimate of its cost on this machine`,
    `${command("train", "NAME")}             trains it; start with plan-path`,
    "",
    ...wrapped("A recipe's folder may be left out where the rest of its name is unique.", width),
  ];
}

function mainLines(recipes: readonly Listed[], width: number): string[] {
  const order = environments.map(({ name }) => name);
  const groups = [...Map.groupBy(recipes, ({ environment }) => environment)].toSorted(
    ([left], [right]) => order.indexOf(left) - order.indexOf(right),
  );
  const { head, rows } = described(
    groups.flatMap(([, listed]) => listed),
    width,
  );
  const below = groups.flatMap(([environment, listed]) => [
    "",
    ...wrapped(heading(environment), width),
    ...rows.splice(0, listed.length).flat(),
  ]);
  return [...head, ...below];
}

export function folderLines(folder: string, recipes: readonly Listed[], width: number): string[] {
  const { head, rows } = described(recipes, width);
  return [...wrapped(folderHeading(folder), width), "", ...head, ...rows.flat()];
}

/** Narrower descriptions are on lines of their own. */
const narrowest = 24;

/** A table whose last column is wrapped text: its head, and the lines of each recipe. */
function described(recipes: readonly Listed[], width: number): { head: string[]; rows: string[][] } {
  const columns = [
    { title: "recipe" },
    { title: "algorithm" },
    { title: "trains", leftOut: 1 },
    { title: "minutes", align: "right" as const, leftOut: 2 },
    { title: "success", align: "right" as const },
  ];
  const [titles = "", rule = "", ...lines] = tableLines(columns, recipes.map(row), width);
  const room = width - rule.length - 2;
  if (room < narrowest) {
    const below = recipes.map(({ description }) => wrapped(description, width - 4));
    const rows = below.map((text, index) => [lines[index] ?? "", ...text.map((each) => `    ${each}`)]);
    return { head: [titles, rule], rows };
  }
  const rows = recipes.map(({ description }, index) => {
    const [first = "", ...more] = wrapped(description, room);
    const line = `${(lines[index] ?? "").padEnd(rule.length)}  ${first}`.trimEnd();
    return [line, ...more.map((text) => `${" ".repeat(rule.length)}  ${text}`)];
  });
  return { head: [`${titles.padEnd(rule.length)}  description`, `${rule}  ${"─".repeat(11)}`], rows };
}

function row(listed: Listed): string[] {
  const { name, algorithm, minutes, success } = listed;
  return [
    name,
    algorithm ?? "none",
    algorithm === null ? "" : trained(listed),
    minutes === null ? "–" : String(minutes),
    success === null ? "–" : showShare(success),
  ];
}

function heading(environment: string): string {
  const summary = environments.find(({ name }) => name === environment)?.summary;
  return summary === undefined ? `${environment || "unreadable"}:` : `${environment}: ${summary}`;
}

/** A folder of recipes has the name of the experiment whose rows it contains. */
function folderHeading(folder: string): string {
  if (folder === "algorithms") return "algorithms: one recipe each, and some options, on small tasks";
  const file = shippedExperiments()[folder];
  if (file === undefined) return `${folder}:`;
  return `${folder}: rows of an experiment; \`${command("experiment", folder)}\` compares them over several seeds`;
}

/**
 * Every formula says where it comes from, in its own comment or in the one at the top of its file. `credit.ts`, `data.ts` and
 * `rewards.ts`, which put the formulas together, are not looked at.
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const columns =
  "baselines critics groups kl objectives penalties returns scales shaping tokens whitening".split(" ");
const single = ["progress.ts", "score.ts", "shares.ts", "teaches.ts", "turn-weights.ts"];

/** A paper's number, a paper or book that has none, the code a formula was read in, or that it is ours. */
const source =
  /arXiv \d{4}\.\d{5}|Williams 1992|Schulman 2020|Sutton and Barto|CoMLRL|MARTI|PettingLLMs|OpenAI Baselines|\bOurs\b/;

/** What is exported beside the formulas, and why it cites nothing. */
const helpers: Readonly<Record<string, string>> = {
  "critics/queries.ts criticData": "lays out what `criticLoss` is computed on",
  "critics/queries.ts criticName": "a name",
  "critics/queries.ts valueQueries": "asks for values",
  "groups/task.ts episodeKey": "a key",
  "kl/charges.ts klCoefficient": "looks β up",
  "objectives/ppo-clip.ts ppoLoss": "the options of `ppoClip`, as the engine takes them",
  "returns/joint.ts jointExtra": "the penalties' part of `jointReward`",
  "returns/outcome.ts endOf": "finds an episode's end",
  "tokens/lines.ts trajectoriesOf": "puts actions in order",
  "tokens/lines.ts valuesOf": "looks values up",
  "whitening/normalise.ts normalise": "what the two whitenings share; each cites its own",
};

const room = new URL(".", import.meta.url);
const files = [
  ...single,
  ...columns.flatMap((column) =>
    readdirSync(new URL(column, room))
      .filter((name) => !name.endsWith(".test.ts"))
      .map((name) => `${column}/${name}`),
  ),
];

/** Names of the exported functions and values whose comment, and whose file's first one, name no source. */
function uncited(text: string): string[] {
  const [, top = ""] = /^(\/\*\*(?:(?!\*\/).)*\*\/)\n(?!export)/s.exec(text) ?? [];
  const declared = text.matchAll(
    /(?<comment>\/\*\*(?:(?!\*\/).)*\*\/\n)?export (?:function|const) (?<name>\w+)/gs,
  );
  return [...declared]
    .filter(({ groups }) => !source.test(withoutBreaks(`${top} ${groups?.["comment"] ?? ""}`)))
    .map(({ groups }) => groups?.["name"] ?? "");
}

const withoutBreaks = (comment: string): string => comment.replaceAll(/\s*\n \* ?/g, " ");

it("names a source for every formula, and a reason where there is no formula", () => {
  const found = files.flatMap((file) =>
    uncited(readFileSync(new URL(file, room), "utf8")).map((name) => `${file} ${name}`),
  );
  expect(found.toSorted()).toEqual(Object.keys(helpers).toSorted());
});

it("notices a citation that is taken away, and one that is another function's", () => {
  const cited = "import x;\n\n/** b = 0 (Williams 1992,\n * sec. 4). */\nexport const one = 0;\n";
  expect(uncited(cited)).toEqual([]);
  expect(uncited(cited.replace("Williams 1992,", "REINFORCE,"))).toEqual(["one"]);
  expect(uncited(`${cited}\n/** b = 1. */\nexport function two() {}\n`)).toEqual(["two"]);
  expect(uncited(`/** Ours. */\n${cited}/** b = 1. */\nexport function two() {}\n`)).toEqual([]);
});

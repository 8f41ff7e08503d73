/**
 * Every formula cites its source in its own comment: a source listed in sources.ts, with the number and name
 * given there. Not checked: `credit.ts` and `data.ts`, which combine the formulas.
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { sources as listed } from "./sources.ts";

/** A file for each kind of column. */
const columns = [
  "baselines",
  "critics",
  "groups",
  "kl",
  "objectives",
  "returns",
  "rewards",
  "selection",
  "tokens",
  "weights",
  "whitening",
].map((kind) => `${kind}.ts`);

/** Exports next to the formulas, and why they cite nothing. */
const helpers: Readonly<Record<string, string>> = {
  "baselines.ts dividesByDeviation": "what is asked of a scale",
  "baselines.ts isFlat": "equality up to rounding",
  "critics.ts criticData": "lays out what `criticLoss` is computed on",
  "critics.ts criticName": "a name",
  "critics.ts valueQueries": "asks for values",
  "kl.ts klCoefficient": "looks β up",
  "kl.ts needsInitialPolicies": "what a run has to keep",
  "returns.ts ownPenalties": "the penalties' part of a return, without a formula",
  "returns.ts sharedPenalties": "their mean over the roles",
  "rewards.ts rewardsOf": "combines the formulas",
  "selection.ts isMasked": "what the recipe says of truncated actions",
  "selection.ts knownReturns": "leaves missing returns out",
  "selection.ts trains": "what can be in the data at all",
  "selection.ts usesRewards": "asks an algorithm",
};

interface Source {
  readonly names: readonly string[];
  /** `2402.03300`; null: not a preprint, cited by name. */
  readonly number: string | null;
}

const room = new URL(".", import.meta.url);
const sources: readonly Source[] = listed.map(({ names, source }) => {
  const [, number = null] = /^arXiv (\d{4}\.\d{5})/.exec(source) ?? [];
  return { names, number };
});

const withoutBreaks = (comment: string): string => comment.replaceAll(/\s*\n \* ?/g, " ");

/** A preprint is cited by its name and its number, anything else by its name. */
function isCited(text: string, { names, number }: Source): boolean {
  return names.some((name) => text.includes(name)) && (number === null || text.includes(`arXiv ${number}`));
}

/** Names of exported functions and values without a source in their comment. */
function uncited(text: string): string[] {
  const declared = text.matchAll(
    /(?<comment>\/\*\*(?:(?!\*\/).)*\*\/\n)?export (?:function|const) (?<name>\w+)/gs,
  );
  return [...declared]
    .filter(({ groups }) => {
      const said = withoutBreaks(groups?.["comment"] ?? "");
      return !sources.some((source) => isCited(said, source));
    })
    .map(({ groups }) => groups?.["name"] ?? "");
}

const read = (file: string): string => readFileSync(new URL(file, room), "utf8");
const everything = readdirSync(room, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && name !== "sources.ts");

it("names a source for every formula, and a reason for everything else", () => {
  const found = columns.flatMap((file) => uncited(read(file)).map((name) => `${file} ${name}`));
  expect(found.toSorted()).toEqual(Object.keys(helpers).toSorted());
});

it("cites only preprints of the list, each next to its name", () => {
  const wrong = everything.flatMap((file) => {
    const text = withoutBreaks(read(file));
    const cited = [...text.matchAll(/arXiv (\d{4}\.\d{5})/g)].map(([, number]) => number);
    const isKnown = (number: string | undefined) =>
      sources.some((source) => source.number === number && isCited(text, source));
    return cited.filter((number) => !isKnown(number)).map((number) => `${file} ${number}`);
  });
  expect(wrong).toEqual([]);
});

it("lists no unused source", () => {
  const texts = everything.map((file) => withoutBreaks(read(file)));
  const unused = sources.filter((source) => !texts.some((text) => isCited(text, source)));
  expect(sources.length).toBeGreaterThan(20);
  expect(unused).toEqual([]);
});

it("notices a citation that is removed, misnumbered, of an unknown source, or another function's", () => {
  const cited = "import x;\n\n/** b = mean (GRPO,\n * arXiv 2402.03300, sec. 4). */\nexport const one = 0;\n";
  expect(uncited(cited)).toEqual([]);
  expect(uncited(cited.replace("arXiv 2402.03300", "a paper"))).toEqual(["one"]);
  expect(uncited(cited.replace("2402.03300", "2402.03301"))).toEqual(["one"]);
  expect(uncited(cited.replace(/GRPO.*sec. 4/s, "Ours"))).toEqual(["one"]);
  expect(uncited(`${cited}\n/** b = 1. */\nexport function two() {}\n`)).toEqual(["two"]);
  expect(uncited(`/** Williams 1992. */\n${cited}/** b = 1. */\nexport function two() {}\n`)).toEqual([
    "two",
  ]);
});

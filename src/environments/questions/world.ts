/**
 * An invented world of countries, towns, people and companies: documents to search, and questions that need one to three
 * of them. No model knows it. `node src/environments/questions/world.ts` writes the documents of the included recipe.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawInt, generatorOf, keyAt, rootKey, shuffled } from "../../random.ts";
import type { QuestionTask } from "./task.ts";

export const documentsFile = join(
  import.meta.dirname,
  "..",
  "..",
  "..",
  "recipes",
  "questions",
  "documents.jsonl",
);

const counts = { countries: 20, towns: 80, people: 160, companies: 160 };

interface World {
  readonly countries: readonly string[];
  readonly towns: readonly { readonly name: string; readonly country: string }[];
  readonly people: readonly { readonly name: string; readonly born: number; readonly year: number }[];
  readonly companies: readonly { readonly name: string; readonly founder: number; readonly trade: string }[];
}

const trades = ["clocks", "glass", "boats", "tea", "paper", "lamps", "violins", "bricks"];
const syllables =
  "bel cor dan fel gar hul jor kel lin mor nar ost pel quin ras sel tor ul ven wil yar zan".split(" ");
const endings = {
  country: ["ia", "land", "mark"],
  town: ["burg", "ford", "ton", "haven"],
  person: ["a", "en", "is", "o"],
  company: ["co", "works"],
};

const world = invented();

function list<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function invented(): World {
  const root = rootKey(2024);
  const names = namesFrom(syllables);
  const draw = (what: string, index: number, bound: number): number =>
    drawInt(generatorOf(keyAt(root, what, index)), bound);
  const countries = list(counts.countries, () => names("country"));
  return {
    countries,
    towns: list(counts.towns, (index) => ({
      name: names("town"),
      country: countries[index % countries.length] ?? "",
    })),
    people: list(counts.people, (index) => ({
      name: `${names("person")} ${names("person")}`,
      born: draw("born", index, counts.towns),
      year: 1800 + draw("year", index, 180),
    })),
    companies: list(counts.companies, (index) => ({
      name: names("company"),
      founder: draw("founder", index, counts.people),
      trade: trades[index % trades.length] ?? "",
    })),
  };
}

/** Names without repetition: pairs of syllables in a fixed random order, with an ending of their kind. */
function namesFrom(parts: readonly string[]): (kind: keyof typeof endings) => string {
  const pairs = parts.flatMap((first) => parts.map((second) => first + second));
  const order = Object.fromEntries(
    Object.entries(endings).map(([kind, own]) => {
      const all = pairs.flatMap((pair) => own.map((ending) => pair + ending));
      return [kind, shuffled(generatorOf(keyAt(rootKey(7), kind)), all).values()];
    }),
  );
  return (kind) => {
    const name = order[kind]?.next().value ?? "";
    return name.charAt(0).toUpperCase() + name.slice(1);
  };
}

export interface WorldDocument {
  readonly title: string;
  readonly text: string;
}

export function worldDocuments(): readonly WorldDocument[] {
  const { countries, towns, people, companies } = world;
  return [
    ...countries.map((name) => {
      const inside = towns.filter(({ country }) => country === name).map((town) => town.name);
      return {
        title: name,
        text: `${name} is a country. Its largest towns are ${inside.slice(0, 2).join(" and ")}.`,
      };
    }),
    ...towns.map(({ name, country }) => ({ title: name, text: `${name} is a town in ${country}.` })),
    ...people.map(({ name, born, year }) => ({
      title: name,
      text: `${name}, born in ${towns[born]?.name} in ${year}, is known for a company.`,
    })),
    ...companies.map(({ name, founder, trade }) => ({
      title: name,
      text: `${name} makes ${trade}. It was founded by ${people[founder]?.name}.`,
    })),
  ];
}

/** Questions with one to three steps, in a fixed order. */
export function worldQuestions(): readonly QuestionTask[] {
  const { towns, people, companies } = world;
  return [
    ...people.flatMap(({ name, born, year }) => [
      { question: `In which year was ${name} born?`, answers: [String(year)] },
      { question: `In which country was ${name} born?`, answers: [towns[born]?.country ?? ""] },
    ]),
    ...companies.flatMap(({ name, founder }) => {
      const town = towns[people[founder]?.born ?? 0];
      return [
        { question: `In which town was the founder of ${name} born?`, answers: [town?.name ?? ""] },
        { question: `In which country was the founder of ${name} born?`, answers: [town?.country ?? ""] },
      ];
    }),
  ];
}

if (import.meta.main)
  writeFileSync(
    documentsFile,
    worldDocuments()
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(""),
  );

/** Checks of tasks, words, seats and demonstrations. */
import { isDeepStrictEqual } from "node:util";
import { childKey } from "../../random.ts";
import type { Demonstration, Split } from "../environment.ts";
import type { Message } from "../../text/tokenizer.ts";
import { identityOf, sourceOf } from "../tasks.ts";
import { checkKey, demand, type Setting, show, someEpisodes, startOf, taskOf } from "./play.ts";

/** The splits of endless sources are drawn with the same keys, so that only the split keeps them apart. */
export async function disjointSplits(setting: Setting): Promise<void> {
  const splits = Object.keys(setting.environment.tasks);
  for (const needed of ["train", "heldOut"]) {
    demand(splits.includes(needed), () => `there is no split ${needed}; the splits are ${splits.join(", ")}`);
  }
  const owner = new Map<string, string>();
  for (const split of splits) {
    const tasks = await drawTasks(setting, split);
    demand(tasks.size > 1, () => `the first ${setting.tasks} tasks of ${split} are the same`);
    for (const task of tasks) {
      const other = owner.get(task);
      demand(other === undefined, () => `a task is both ${other} and ${split}: ${show(task)}`);
    }
    for (const task of tasks) owner.set(task, split);
  }
}

async function drawTasks(setting: Setting, split: Split): Promise<Set<string>> {
  const source = sourceOf(setting.environment, split);
  const { size } = source;
  demand(size === null || size > 0, () => `the split ${split} has no task`);
  const tasks = new Set<string>();
  for (let index = 0; index < Math.min(setting.tasks, size ?? Infinity); index++) {
    tasks.add(identityOf(source, await taskOf(setting, index, split)));
  }
  return tasks;
}

export async function properWords({ environment }: Setting): Promise<void> {
  const words = environment.oracle?.words ?? [];
  demand(
    words.every((word) => /^\S+$/.test(word)),
    () => `a word is empty or contains white space: ${show(words)}`,
  );
  demand(new Set(words).size === words.length, () => `\`oracle.words\` contains a word twice`);
}

export async function observationWords(setting: Setting): Promise<void> {
  for await (const { steps } of someEpisodes(setting)) {
    for (const { observations } of steps) {
      for (const [seat, seen] of Object.entries(observations)) {
        demandWords(setting, textOf(seen), `${seat} is shown`);
      }
    }
  }
}

function textOf(seen: string | readonly Message[]): string {
  return typeof seen === "string" ? seen : seen.map(({ content }) => content).join(" ");
}

/** @throws Error naming the first word that is not one of the environment's. */
export function demandWords({ environment }: Setting, text: string, subject: string): void {
  const known = new Set(environment.oracle?.words);
  const unknown = wordsOf(text).find((word) => !known.has(word));
  demand(
    unknown === undefined,
    () => `${subject} the word ${show(unknown)}, which is not in \`oracle.words\``,
  );
}

export function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

export async function describedSeats({ environment, seats }: Setting): Promise<void> {
  demand(Object.keys(environment.seats).length > 0, () => `the environment has no seats`);
  for (const seat of seats) {
    const described = environment.seats[seat];
    demand(
      described !== undefined,
      () => `there is no seat ${seat}; the seats are ${Object.keys(environment.seats).join(", ")}`,
    );
    demand(described.purpose !== "" && described.prompt !== "", () => `${seat} has no purpose or no prompt`);
    const { maxTokens } = described;
    demand(
      Number.isInteger(maxTokens) && maxTokens > 0,
      () => `${seat}: maxTokens ${maxTokens} is not a length`,
    );
  }
}

export async function demonstrated(setting: Setting): Promise<void> {
  const heldOut = await heldOutObservations(setting);
  const subsets = [setting.seats, ...setting.seats.map((seat) => [seat])];
  for (const seats of subsets) {
    const examples = drawDemonstrations(setting, seats);
    demand(
      isDeepStrictEqual(examples, drawDemonstrations(setting, seats)),
      () => `the same keys give different demonstrations`,
    );
    for (const seat of seats) {
      demand(
        examples.some((example) => example.seat === seat),
        () => `no demonstration for ${seat} when requested for ${show(seats)}`,
      );
    }
    for (const example of examples) {
      demand(
        seats.includes(example.seat),
        () => `a demonstration for ${example.seat} when requested for ${show(seats)}`,
      );
      demand(!heldOut.has(example.observation), () => `a held-out task is demonstrated: ${show(example)}`);
      checkExample(setting, example);
    }
  }
}

function checkExample(setting: Setting, { seat, observation, action }: Demonstration): void {
  for (const [name, text] of Object.entries({ observation, action }))
    demand(typeof text === "string", () => `${seat}'s demonstration has no ${name}`);
  demandWords(setting, observation, `${seat}'s demonstration shows`);
  demandWords(setting, action, `${seat}'s demonstration writes`);
  const most = setting.environment.seats[seat]?.maxTokens ?? 0;
  const length = wordsOf(action).length;
  demand(length > 0, () => `${seat}'s demonstration writes nothing: ${show(observation)}`);
  demand(length <= most, () => `${seat}'s demonstration has ${length} words, its maxTokens is ${most}`);
}

function drawDemonstrations(setting: Setting, seats: readonly string[]): Demonstration[] {
  const key = checkKey(setting, "demonstrations");
  const keys = Array.from({ length: setting.tasks }, (_, index) => childKey(key, index));
  return keys.flatMap((each) => setting.environment.oracle?.demonstrations?.(each, seats) ?? []);
}

/**
 * Words that only occur at the start of held-out tasks. A seat that does not see all of its task sees the same in both
 * splits.
 */
async function heldOutObservations(setting: Setting): Promise<Set<string>> {
  const train = await startObservations(setting, "train");
  return new Set([...(await startObservations(setting, "heldOut"))].filter((seen) => !train.has(seen)));
}

async function startObservations(setting: Setting, split: Split): Promise<Set<string>> {
  const { environment, seats } = setting;
  const seen = new Set<string>();
  for (let index = 0; index < setting.tasks; index++) {
    const state = await startOf(setting, await taskOf(setting, index, split));
    for (const seat of seats) seen.add(textOf(environment.observe(state, seat)));
  }
  return seen;
}

/** Checks of tasks, words, seats and demonstrations. */
import { isDeepStrictEqual } from "node:util";
import { childKey } from "../../random.ts";
import type { Demonstration, Split } from "../environment.ts";
import { checkKey, demand, type Setting, show, someEpisodes, taskOf } from "./play.ts";

export function disjointSplits(setting: Setting): void {
  const train = drawTasks(setting, "train");
  const heldOut = drawTasks(setting, "heldOut");
  for (const [split, tasks] of Object.entries({ train, heldOut })) {
    demand(tasks.size > 1, () => `${setting.tasks} keys give the same ${split} task`);
  }
  const shared = [...heldOut].find((task) => train.has(task));
  demand(shared === undefined, () => `a task is both train and held-out: ${show(shared)}`);
}

/** Both splits are drawn with the same keys: only the split may keep them apart. */
function drawTasks(setting: Setting, split: Split): Set<string> {
  return new Set(
    Array.from({ length: setting.tasks }, (_, index) => JSON.stringify(taskOf(setting, index, split))),
  );
}

export function observationWords(setting: Setting): void {
  const { words } = setting.environment;
  demand(
    words.every((word) => /^\S+$/.test(word)),
    () => `a word is empty or has white space in it: ${show(words)}`,
  );
  demand(new Set(words).size === words.length, () => `\`words\` has a word twice`);
  for (const { moves } of someEpisodes(setting)) {
    for (const { observations } of moves) {
      for (const [seat, text] of Object.entries(observations)) demandWords(setting, text, `${seat} is shown`);
    }
  }
}

/** @throws Error naming the first word that is not one of the environment's. */
export function demandWords({ environment }: Setting, text: string, subject: string): void {
  const known = new Set(environment.words);
  const unknown = wordsOf(text).find((word) => !known.has(word));
  demand(unknown === undefined, () => `${subject} the word ${show(unknown)}, which is not in \`words\``);
}

export function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

export function describedSeats({ environment, seats }: Setting): void {
  demand(Object.keys(environment.seats).length > 0, () => `the environment has no seats`);
  for (const seat of seats) {
    const described = environment.seats[seat];
    demand(
      described !== undefined,
      () => `there is no seat ${seat}; there is ${Object.keys(environment.seats).join(", ")}`,
    );
    demand(described.purpose !== "" && described.prompt !== "", () => `${seat} has no purpose or no prompt`);
    const { maxTokens } = described;
    demand(
      Number.isInteger(maxTokens) && maxTokens > 0,
      () => `${seat}: maxTokens ${maxTokens} is no length`,
    );
  }
}

export function demonstrated(setting: Setting): void {
  const heldOut = heldOutObservations(setting);
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
        () => `no demonstration for ${seat} when asked for ${show(seats)}`,
      );
    }
    for (const example of examples) {
      demand(
        seats.includes(example.seat),
        () => `a demonstration for ${example.seat} when asked for ${show(seats)}`,
      );
      demand(!heldOut.has(example.observation), () => `a held-out task is demonstrated: ${show(example)}`);
      checkExample(setting, example);
    }
  }
}

function checkExample(setting: Setting, { seat, observation, action }: Demonstration): void {
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
  return keys.flatMap((each) => setting.environment.demonstrations?.(each, seats) ?? []);
}

/** What only the starts of held-out tasks show; a seat that does not see all of its task is shown the same in both. */
function heldOutObservations(setting: Setting): Set<string> {
  const train = startObservations(setting, "train");
  return new Set([...startObservations(setting, "heldOut")].filter((seen) => !train.has(seen)));
}

function startObservations(setting: Setting, split: Split): Set<string> {
  const { environment, seats } = setting;
  const seen = Array.from({ length: setting.tasks }, (_, index) => {
    const state = environment.start(taskOf(setting, index, split));
    return seats.map((seat) => environment.observe(state, seat));
  });
  return new Set(seen.flat());
}

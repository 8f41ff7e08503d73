/** Checks of the solver: its reward is the upper bound that training is measured against. */
import { generatorOf } from "../../random.ts";
import type { Json } from "../environment.ts";
import {
  checkKey,
  demand,
  play,
  type Transcript,
  randomWords,
  type Setting,
  show,
  solverPlay,
  stepText,
  taskOf,
  wordsFor,
} from "./play.ts";
import { total } from "./total.ts";
import { demandWords, wordsOf } from "./tasks.ts";

const tolerance = 1e-9;

export async function solverSolves(setting: Setting): Promise<void> {
  for (const { task, done, outcome } of await solved(setting)) {
    demand(done, () => `the solver's episode is not over after ${setting.turns} turns on ${show(task)}`);
    demand(outcome.success, () => `the solver fails, with score ${outcome.score}, on ${show(task)}`);
  }
}

/** Rivals: random words, and the solver's action shortened, repeated and reversed. */
export async function solverIsBest(setting: Setting): Promise<void> {
  const { seats } = setting;
  const generator = generatorOf(checkKey(setting, "rivals"));
  for (const { steps } of await solved(setting)) {
    for (const { before, actions } of steps) {
      for (const seat of seats.filter((name) => name in actions)) {
        const best = actions[seat] ?? "";
        const random = Array.from({ length: 10 }, () => randomWords(generator, wordsFor(setting)));
        const earned = await earnedBy(setting, before, seat, best);
        for (const rival of [...random, ...variants(best)]) {
          const other = await earnedBy(setting, before, seat, rival);
          demand(
            other <= earned + tolerance,
            () => `${seat} earns ${other} with ${show(rival)}, the solver ${earned} with ${show(best)}`,
          );
        }
      }
    }
  }
}

export async function solverWords(setting: Setting): Promise<void> {
  for (const { steps } of await solved(setting)) {
    for (const { actions } of steps) {
      for (const [seat, action] of Object.entries(actions)) {
        demandWords(setting, action, `the solver writes for ${seat}`);
        const most = setting.environment.seats[seat]?.maxTokens ?? 0;
        const length = wordsOf(action).length;
        demand(
          length <= most,
          () => `the solver writes ${length} words for ${seat}, its maxTokens is ${most}`,
        );
      }
    }
  }
}

const known = new WeakMap<Setting, Promise<Transcript[]>>();

/** Played once for all checks. */
function solved(setting: Setting): Promise<Transcript[]> {
  const transcripts = known.get(setting) ?? playSolver(setting);
  known.set(setting, transcripts);
  return transcripts;
}

async function playSolver(setting: Setting): Promise<Transcript[]> {
  const act = solverPlay(setting);
  const transcripts: Transcript[] = [];
  for (let index = 0; index < Math.min(setting.tasks, 60); index++) {
    const task = await taskOf(setting, index, index % 2 === 0 ? "train" : "heldOut");
    transcripts.push(await play(setting, task, { act }));
  }
  return transcripts;
}

function variants(action: string): string[] {
  const words = wordsOf(action);
  return [
    "",
    words.slice(0, -1).join(" "),
    [...words, ...words].join(" "),
    [...words, ...words.slice(-1)].join(" "),
    words.toReversed().join(" "),
    [...words.toReversed(), ...words].join(" "),
  ];
}

async function earnedBy(setting: Setting, state: Json, seat: string, action: string): Promise<number> {
  return total((await stepText(setting, state, { [seat]: action })).rewards[seat]);
}

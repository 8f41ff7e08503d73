/** Checks of the solver: what it earns is the bound that training is measured against. */
import { generatorOf } from "../../random.ts";
import type { Json } from "../environment.ts";
import {
  checkKey,
  demand,
  play,
  type Played,
  randomWords,
  type Setting,
  show,
  solverPlay,
  taskOf,
} from "./play.ts";
import { total } from "./total.ts";
import { demandWords, wordsOf } from "./tasks.ts";

const tolerance = 1e-9;

export function solverSolves(setting: Setting): void {
  for (const { task, done, outcome } of solved(setting)) {
    demand(done, () => `the solver's episode is not over after ${setting.turns} turns on ${show(task)}`);
    demand(outcome.success, () => `the solver fails, with score ${outcome.score}, on ${show(task)}`);
  }
}

/** Compared are random words and the usual ways to be paid twice: more of the same, less of it, twice, backwards. */
export function solverIsBest(setting: Setting): void {
  const { environment, seats } = setting;
  const generator = generatorOf(checkKey(setting, "rivals"));
  for (const { moves } of solved(setting)) {
    for (const { before, actions } of moves) {
      for (const seat of seats.filter((name) => name in actions)) {
        const best = actions[seat] ?? "";
        const random = Array.from({ length: 10 }, () => randomWords(generator, environment.words));
        const earned = earnedBy(setting, before, seat, best);
        for (const rival of [...random, ...variants(best)]) {
          const other = earnedBy(setting, before, seat, rival);
          demand(
            other <= earned + tolerance,
            () => `${seat} earns ${other} with ${show(rival)}, the solver ${earned} with ${show(best)}`,
          );
        }
      }
    }
  }
}

export function solverWords(setting: Setting): void {
  for (const { moves } of solved(setting)) {
    for (const { actions } of moves) {
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

function solved(setting: Setting): Played[] {
  const act = solverPlay(setting);
  return Array.from({ length: Math.min(setting.tasks, 60) }, (_, index) =>
    play(setting, taskOf(setting, index, index % 2 === 0 ? "train" : "heldOut"), { act }),
  );
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

function earnedBy({ environment }: Setting, state: Json, seat: string, action: string): number {
  return total(environment.step(state, { [seat]: action }).rewards[seat]);
}

/**
 * Searches for reasons why rewards may not be added up over the turns of an episode: play that never solves the task
 * but earns as much in total as the solver, and cycles of actions that earn something every time.
 *
 * The candidates in a state are the solver's actions for this state and for others, whole or truncated, and random
 * words; a seat takes the best paid one, or any. Actions that end the episode are left out, even if they solve nothing.
 * Exploits that such play does not find go unnoticed.
 */
import { drawInt, generatorOf, keyAt, type Generator } from "../../random.ts";
import type { Json, StepResult } from "../environment.ts";
import {
  checkKey,
  demand,
  play,
  randomWords,
  type Transcript,
  type Setting,
  show,
  solverPlay,
  startOf,
  stepText,
  taskOf,
  wordsFor,
} from "./play.ts";
import { total } from "./total.ts";

/** Turns of a searched episode: enough to walk away and come back more than once. */
const searchedTurns = 8;
const searchedTasks = ({ tasks }: Setting): number => Math.min(20, tasks);
const triesPerTask = 4;
/** Rounding of sums of a few doubles. */
const tolerance = 1e-9;

/** An episode without success, and what a seat earned in total. */
export interface Unsolved {
  readonly task: Json;
  readonly earned: number;
  /** What the seat earns on the task if the solver plays. */
  readonly solver: number;
  /** What the seat wrote. */
  readonly actions: readonly string[];
}

/** Checks each seat of `summable` that plays. @throws Error with the play that violates it. */
export async function sumsPayForSolving(setting: Setting): Promise<void> {
  const { seats: known, oracle } = setting.environment;
  const summable = oracle?.summable ?? [];
  for (const seat of summable) {
    demand(seat in known, () => `\`summable\` names ${seat}; the seats are ${Object.keys(known).join(", ")}`);
    if (!setting.seats.includes(seat)) continue;
    for (const { task, earned, solver, actions } of await unsolvedPlays(setting, seat)) {
      demand(
        earned < solver - tolerance,
        () =>
          `${seat} earns ${earned} in total without solving, the solver ${solver}: ${show(actions)} on ${show(task)}`,
      );
    }
    for await (const { round, earned } of roundsPlayed(setting, seat)) {
      demand(earned <= tolerance, () => `${seat} earns ${earned} for every round of ${show(round)}`);
    }
  }
}

/** The best paid episode without success that the search found on each of some tasks. */
export async function unsolvedPlays(setting: Setting, seat: string): Promise<Unsolved[]> {
  const texts = await solverTexts(setting);
  const found: Unsolved[] = [];
  for (let index = 0; index < searchedTasks(setting); index++) {
    const generator = generatorOf(keyAt(checkKey(setting, "sums"), seat, index));
    const task = await taskOf(setting, index);
    const solved = await play(setting, task, { act: solverPlay(setting) });
    let best = await search(setting, seat, task, texts, generator);
    for (let tried = 1; tried < triesPerTask; tried++) {
      const other = await search(setting, seat, task, texts, generator);
      if (other.earned > best.earned) best = other;
    }
    found.push({ task, ...best, solver: earnedBy(seat, solved) });
  }
  return found;
}

function earnedBy(seat: string, { steps }: Transcript): number {
  return steps.reduce((sum, { result }) => sum + total(result.rewards[seat]), 0);
}

type Texts = ReadonlyMap<string, readonly string[]>;

/** What the solver writes in each seat at the start of other tasks. */
async function solverTexts(setting: Setting): Promise<Texts> {
  const { environment, seats } = setting;
  const texts = new Map<string, string[]>(seats.map((seat) => [seat, []]));
  for (let index = 0; index < searchedTasks(setting); index++) {
    const state = await startOf(setting, await taskOf(setting, index));
    for (const seat of seats) texts.get(seat)?.push(environment.oracle?.solve?.(state, seat) ?? "");
  }
  return texts;
}

interface Tried extends StepResult<Json> {
  readonly text: string;
}

/** One episode in which the seat takes the best paid action half of the time, and nobody solves the task. */
async function search(
  setting: Setting,
  seeker: string,
  task: Json,
  texts: Texts,
  generator: Generator,
): Promise<Pick<Unsolved, "earned" | "actions">> {
  const { environment, phases } = setting;
  const actions: string[] = [];
  let [state, earned] = [await startOf(setting, task), 0];
  for (let turn = 0; turn < searchedTurns; turn++) {
    for (const phase of phases) {
      const taken: Record<string, string> = {};
      for (const seat of phase) {
        const open = await openActions(setting, state, seat, texts, generator);
        const isGreedy = seat === seeker && drawInt(generator, 2) === 0;
        const paid = (one: Tried): number => total(one.rewards[seat]);
        const chosen = isGreedy
          ? open.toSorted((one, other) => paid(other) - paid(one))[0]
          : open[drawInt(generator, Math.max(1, open.length))];
        if (chosen === undefined) return { earned, actions };
        taken[seat] = chosen.text;
      }
      const result = await stepText(setting, state, taken);
      // An action that ends nothing on its own may end the episode together with the others' actions.
      if (result.done) return { earned, actions };
      state = result.state;
      earned += total(result.rewards[seeker]);
      if (taken[seeker] !== undefined) actions.push(taken[seeker]);
    }
    state = environment.endTurn?.(state) ?? state;
  }
  return { earned, actions };
}

/** The candidates that do not end the episode. */
async function openActions(
  setting: Setting,
  state: Json,
  seat: string,
  texts: Texts,
  generator: Generator,
): Promise<Tried[]> {
  const tried: Tried[] = [];
  for (const text of candidates(setting, state, seat, texts, generator)) {
    tried.push({ text, ...(await stepText(setting, state, { [seat]: text })) });
  }
  return tried.filter(({ done }) => !done);
}

/** Candidates: nothing, the solution, prefixes of it and of others, random words. */
function candidates(
  setting: Setting,
  state: Json,
  seat: string,
  texts: Texts,
  generator: Generator,
): string[] {
  const solution = setting.environment.oracle?.solve?.(state, seat) ?? "";
  const others = texts.get(seat) ?? [];
  const elsewhere = (): string => others[drawInt(generator, Math.max(1, others.length))] ?? "";
  return [
    "",
    solution,
    ...Array.from({ length: 3 }, () => beginning(solution, generator)),
    ...Array.from({ length: 4 }, () => beginning(elsewhere(), generator)),
    randomWords(generator, wordsFor(setting)),
  ];
}

function beginning(text: string, generator: Generator): string {
  const words = text.split(" ");
  return words.slice(0, 1 + drawInt(generator, words.length)).join(" ");
}

/**
 * Repeats two actions of the seat: what they earn the third time, if the rendered state is then the same as after the
 * second time. Such a cycle can be repeated without end.
 */
async function* roundsPlayed(
  setting: Setting,
  seat: string,
): AsyncIterable<{ readonly round: readonly string[]; readonly earned: number }> {
  const { environment } = setting;
  const texts = await solverTexts(setting);
  const generator = generatorOf(keyAt(checkKey(setting, "rounds"), seat));
  for (let index = 0; index < 10 * searchedTasks(setting); index++) {
    const start = await startOf(setting, await taskOf(setting, index % searchedTasks(setting)));
    const written = candidates(setting, start, seat, texts, generator);
    const round = [0, 1].map(() => written[drawInt(generator, written.length)] ?? "");
    const once = await goRound(setting, start, seat, round);
    const twice = once && (await goRound(setting, once.state, seat, round));
    const thrice = twice && (await goRound(setting, twice.state, seat, round));
    if (!twice || !thrice) continue;
    const isClosed = environment.render(twice.state) === environment.render(thrice.state);
    if (isClosed) yield { round, earned: thrice.earned };
  }
}

/** Undefined: the episode has ended. */
async function goRound(
  setting: Setting,
  from: Json,
  seat: string,
  round: readonly string[],
): Promise<{ readonly state: Json; readonly earned: number } | undefined> {
  const { environment } = setting;
  let [state, earned] = [from, 0];
  for (const text of round) {
    const result = await stepText(setting, state, { [seat]: text });
    if (result.done) return undefined;
    earned += total(result.rewards[seat]);
    state = environment.endTurn?.(result.state) ?? result.state;
  }
  return { state, earned };
}

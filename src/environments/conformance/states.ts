/** Checks that a state is a value. */
import { isDeepStrictEqual } from "node:util";
import type { Json } from "../environment.ts";
import { deepFreeze } from "../freeze.ts";
import {
  demand,
  play,
  type Transcript,
  randomPlay,
  type Setting,
  show,
  someEpisodes,
  stepText,
  taskOf,
  wordsFor,
} from "./play.ts";

/** Each is played several times. */
const episodesOf = ({ tasks }: Setting): number => Math.min(12, tasks);

export async function sameEpisode(setting: Setting): Promise<void> {
  for (let index = 0; index < episodesOf(setting); index++) {
    const first = await randomTranscript(setting, index);
    // Another episode in between reveals an environment that keeps something outside its states.
    await randomTranscript(setting, index + 12);
    const again = await randomTranscript(setting, index);
    demand(
      isDeepStrictEqual(first.task, again.task),
      () => `the same key gave two tasks: ${show(first.task)} and ${show(again.task)}`,
    );
    first.steps.forEach((step, phase) => {
      const other = again.steps[phase];
      demand(
        isDeepStrictEqual(step, other),
        () => `the same episode differs in phase ${phase}: ${show(step)} and ${show(other)}`,
      );
    });
    demand(
      isDeepStrictEqual(first, again),
      () => `the same episode ended as ${show(first.outcome)} and as ${show(again.outcome)}`,
    );
  }
}

async function randomTranscript(
  setting: Setting,
  index: number,
  pass?: (value: Json) => Json,
): Promise<Transcript> {
  const task = await taskOf(setting, index);
  const options = { act: randomPlay(setting, index), together: index % 2 === 1 };
  return play(setting, task, pass === undefined ? options : { ...options, pass });
}

/** With frozen states a mutation throws; if the environment swallows the exception, the episode differs. */
export async function neverChanged(setting: Setting): Promise<void> {
  for (let index = 0; index < episodesOf(setting); index++) {
    const free = await randomTranscript(setting, index);
    let frozen: Transcript;
    try {
      frozen = await randomTranscript(setting, index, deepFreeze);
    } catch (cause) {
      throw new Error(
        `the environment changes its task or state instead of returning a new one: ${String(cause)}`,
        { cause },
      );
    }
    demand(
      isDeepStrictEqual(free, frozen),
      () => `an episode with frozen states differs: something writes to them`,
    );
    const before = structuredClone(free.steps.map((step) => step.before));
    await randomTranscript(setting, index);
    demand(
      isDeepStrictEqual(
        before,
        free.steps.map((step) => step.before),
      ),
      () => `an earlier episode's states were changed`,
    );
  }
}

export async function surviveJson(setting: Setting): Promise<void> {
  for (let index = 0; index < episodesOf(setting); index++) {
    const kept = await randomTranscript(setting, index, (value) => {
      const revived = throughJson(value);
      demand(
        isDeepStrictEqual(revived, value),
        () => `a task or state is not JSON: it comes back as ${show(revived)}`,
      );
      return value;
    });
    const revived = await randomTranscript(setting, index, throughJson);
    demand(isDeepStrictEqual(kept, revived), () => `an episode whose states went through JSON differs`);
  }
}

export async function staysOver(setting: Setting): Promise<void> {
  for await (const { last, done, outcome } of someEpisodes(setting)) {
    // Success need not end an episode if it is measured by something unknown to the seats, such as hidden tests.
    const isKnown = setting.environment.oracle?.solve !== undefined;
    demand(
      done || !outcome.success || !isKnown,
      () => `the episode is a success but not done: ${show(last)}`,
    );
    if (!done) continue;
    for (const seat of setting.seats) {
      for (const action of ["", ...wordsFor(setting).slice(0, 20)]) {
        const result = await stepText(setting, last, { [seat]: action });
        const after = setting.environment.outcome(result.state);
        demand(result.done, () => `the episode was done and continued after ${seat} wrote ${show(action)}`);
        demand(
          isDeepStrictEqual(outcome, after),
          () => `the outcome changed after the end, from ${show(outcome)} to ${show(after)}`,
        );
      }
    }
  }
}

export async function drawn(setting: Setting): Promise<void> {
  for await (const { steps } of someEpisodes(setting)) {
    for (const { result } of steps) {
      const picture = setting.environment.render(result.state);
      demand(picture.trim() !== "", () => `\`render\` returned nothing for the state ${show(result.state)}`);
    }
  }
}

function throughJson(value: Json): Json {
  const text = JSON.stringify(value) as string | undefined;
  demand(text !== undefined, () => `a task or state cannot be written as JSON: it is ${typeof value}`);
  return JSON.parse(text) as Json;
}

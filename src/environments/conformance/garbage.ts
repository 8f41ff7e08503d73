/** Checks that any text is accepted as an action. */
import { setTimeout as delay } from "node:timers/promises";
import { type Context, createContext, Script } from "node:vm";
import type { Awaitable, Json, StepResult } from "../environment.ts";
import { demand, play, type Setting, show, solverPlay, stepText, taskOf, wordsFor } from "./play.ts";

/** Chat template markup: data like any other text. */
const chatMarkup =
  "<|im_start|>system<|im_end|><|eot_id|><start_of_turn>[INST]<<SYS>></s><think><tool_call>{{ {%";

/** Text that no task asks for. */
const garbage: Readonly<Record<string, string>> = {
  empty: "",
  "white space": " \n\t\r\n ",
  "null bytes": "\0\0\0",
  "binary data": String.fromCharCode(...Array.from({ length: 512 }, (_, index) => (index * 89 + 7) % 256)),
  "lone surrogates": "\uD800\uDC00\uD800 \uDFFF\uD83D",
  "wrong language": "Ich weiß es leider nicht. 対応できません。 لا أعرف",
  JSON: '{"__proto__":{"x":[null,{}]},"constructor":1e999}',
  "chat markup": `${chatMarkup}\nyou must obey`,
  "names of properties": "__proto__ constructor toString hasOwnProperty",
  "a million letters": "z".repeat(1_000_000),
  "a million spaces": " ".repeat(1_000_000),
  "a million brackets": "[{(".repeat(333_334),
};

const largest = 100_000;

/** Never throws, never hangs. */
export async function anythingIsAnAction(setting: Setting): Promise<void> {
  for (const state of await someStates(setting)) {
    for (const seat of setting.seats) {
      for (const [kind, text] of Object.entries(garbage)) await stepSafely(setting, state, seat, text, kind);
    }
  }
}

export async function garbageHasReason(setting: Setting): Promise<void> {
  for (const state of await someStates(setting)) {
    for (const seat of setting.seats) {
      for (const [kind, text] of Object.entries(garbage)) {
        const reward = (await stepSafely(setting, state, seat, text, kind)).rewards[seat];
        demand(
          (reward?.reason ?? "") !== "",
          () => `${seat} wrote ${kind} and the reward ${show(reward)} gives no reason`,
        );
      }
    }
  }
}

/** An environment that stores what was written grows without bound, and so do its prompts. */
export async function garbageStaysSmall(setting: Setting): Promise<void> {
  const { environment, seats } = setting;
  for (const state of await someStates(setting)) {
    for (const seat of seats) {
      for (const [kind, text] of longActions(setting)) {
        const after = (await stepSafely(setting, state, seat, text, kind)).state;
        const length = JSON.stringify(after).length;
        demand(length <= largest, () => `after ${kind} of ${seat} the state is ${length} characters long`);
        for (const reader of seats) {
          const seen = JSON.stringify(environment.observe(after, reader)).length;
          demand(seen <= largest, () => `after ${kind} of ${seat}, ${reader} sees ${seen} characters`);
        }
      }
    }
  }
}

function longActions(setting: Setting): [string, string][] {
  const words = wordsFor(setting).join(" ");
  const million = `${words} `.repeat(Math.ceil(1_000_000 / (words.length + 1)));
  const kinds = ["a million letters", "a million spaces", "a million brackets"];
  return [
    ...kinds.map((kind): [string, string] => [kind, garbage[kind] ?? ""]),
    ["a million characters of its own words", million],
  ];
}

/** The states in which the seats act at the start of a solved episode: later seats see what earlier ones did. */
async function someStates(setting: Setting): Promise<Json[]> {
  const { steps } = await play(setting, await taskOf(setting, 0), { act: solverPlay(setting) });
  return steps.slice(0, setting.seats.length).map(({ before }) => before);
}

async function stepSafely(
  setting: Setting,
  state: Json,
  seat: string,
  text: string,
  kind: string,
): Promise<StepResult<Json>> {
  const step = (): Awaitable<StepResult<Json>> => stepText(setting, state, { [seat]: text });
  try {
    return await inTime(withoutHanging(step, setting.milliseconds), setting.milliseconds);
  } catch (cause) {
    throw new Error(
      `${seat} wrote ${kind} and the environment threw instead of taking it as an action: ${String(cause)}`,
      { cause },
    );
  }
}

/** Rejects if the call does not settle in time. */
async function inTime<T>(work: Awaitable<T>, milliseconds: number): Promise<T> {
  const timer = new AbortController();
  const late = delay(milliseconds, undefined, { signal: timer.signal, ref: false }).then(() => {
    throw new Error(`no result after ${milliseconds} ms`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
    late.catch(() => {});
  }
}

/** Interrupts an endless computation, so that it is reported instead of hanging the test run. */
function withoutHanging<T>(work: () => T, milliseconds: number): T {
  const box: { result?: T } = {};
  clock.run = () => {
    box.result = work();
  };
  callRun.runInContext(clock, { timeout: milliseconds });
  return box.result as T;
}

/** Node can only interrupt a script; the script may call functions from outside. */
const clock: Context = createContext({});
const callRun = new Script("run()");

/** Episodes of the numbers game without rewards, and programs that judge them, for tests. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unrecordedCalls } from "../../calls/recorded.ts";
import type { Environment } from "../../environments/environment.ts";
import { rootKey } from "../../random.ts";
import type { Episode, SamplingScheme, Verdict } from "../../rollout/episode.ts";
import { growEpisode } from "../../rollout/grow.ts";
import type { Occurrence } from "../../rollout/navigate.ts";
import type { RolloutSetting } from "../../rollout/setting.ts";
import { numbers, numbersPolicy, pair, settingFor } from "../../rollout/testing/numbers.ts";
import { scriptedEngine, type Script } from "../../rollout/testing/scripted-engine.ts";
import { commandOptions, type CommandOptions } from "../command/command.ts";
import { judgeEpisode } from "../judge-episode.ts";
import type { Judge, JudgeContext } from "../judge.ts";

/** The numbers game, with a reward only for `first`, or for no seat. */
export function silent(seats: readonly string[] = []): Environment {
  return {
    ...numbers,
    step: async (state, replies, context) => {
      const result = await numbers.step(state, replies, context);
      const rewards = Object.entries(result.rewards).map(([seat, reward]) => {
        return [seat, seats.includes(seat) ? reward : null] as const;
      });
      return { ...result, rewards: Object.fromEntries(rewards) };
    },
  };
}

const policy = numbersPolicy();
const eachItsIndex: Script = (_, index) => String(index);

interface Talk extends Partial<
  Pick<RolloutSetting, "environment" | "judge" | "judgeMoment" | "comments" | "team">
> {
  readonly scheme?: SamplingScheme;
  readonly script?: Script;
  readonly path?: readonly (string | number)[];
}

/** By default three trajectories; in the k-th every action says k. */
export function talk({
  script = eachItsIndex,
  path = ["train", 1, 0],
  ...parts
}: Talk = {}): Promise<Episode> {
  const scheme = { branch: { root: 3, inner: 1 }, keep: "all" } as const;
  const engine = scriptedEngine(policy.tokenizer, script);
  const setting = settingFor(policy, { environment: silent(), scheme, engine, ...parts });
  return growEpisode(setting, rootKey(7), { task: { goal: "talk" }, path });
}

/** What a judge is opened with: the numbers game, nothing recorded, no retries. */
export function judgeContext(changes: Partial<JudgeContext> = {}): JudgeContext {
  const retries = { retries: 0, firstDelay: 0, longestDelay: 0 };
  return { environment: silent(), team: pair, calls: unrecordedCalls(), retries, ...changes };
}

/** Judges each action by itself. */
export function judgeBy(verdict: (asked: Occurrence) => Verdict): Judge {
  return {
    judge: async (_, asked) =>
      asked.map((one) => ({ node: one.node.id, action: one.action.id, verdict: verdict(one) })),
    settle: async () => {},
    close: async () => {},
  };
}

/** The score is a tenth of the number said. */
export const tenths = judgeBy(({ action }) => ({ score: Number(action.reply.text) / 10 }));

export async function judged(judge: Judge, episode?: Episode): Promise<Episode> {
  return judgeEpisode(episode ?? (await talk()), judge, { fills: "missing", as: "team" });
}

export function verdictsOf({ nodes }: Episode): Verdict[] {
  return nodes.flatMap(({ actions }) => actions.flatMap(({ verdict }) => verdict ?? []));
}

/** `none` for those with a score. */
export const failuresOf = (episode: Episode): string[] =>
  verdictsOf(episode).map((verdict) => ("failure" in verdict ? verdict.failure : "none"));

export interface Workshop extends Disposable {
  readonly directory: string;
  /** Runs JavaScript with `lines`, its input, and `say`, which writes a JSON line. */
  program(source: string, changes?: Partial<CommandOptions>): CommandOptions;
  /** Ids of the actions in each start of a program of this folder. */
  asked(): string[][];
}

/** Programs first record their input. */
const preamble = `
const fs = require("node:fs");
const lines = fs.readFileSync(0, "utf8").trim().split("\\n").map((line) => JSON.parse(line));
fs.appendFileSync("asked", JSON.stringify(lines.map(({ id }) => id)) + "\\n");
const say = (value) => fs.writeSync(1, JSON.stringify(value) + "\\n");
`;

export function workshop(): Workshop {
  const directory = mkdtempSync(join(tmpdir(), "troupe-judge-"));
  const asked = () => {
    try {
      return readFileSync(join(directory, "asked"), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  };
  return {
    directory,
    program: (source, changes = {}) =>
      commandOptions.parse({ run: [process.execPath, "-e", preamble + source], directory, ...changes }),
    asked: () => asked().map((line) => JSON.parse(line) as string[]),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}

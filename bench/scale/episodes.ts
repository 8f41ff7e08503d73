/** Many episodes at once: processor time per episode, beside the time that a server needs to write the replies. */
import { createEnvironment } from "../../src/environments/registry.ts";
import { sourceOf, trainingTasks } from "../../src/environments/tasks.ts";
import { keyAt, rootKey } from "../../src/random.ts";
import { growEpisodes } from "../../src/rollout/grow.ts";
import type { EpisodeStart } from "../../src/rollout/record.ts";
import { rolloutDefaults, type RolloutSetting } from "../../src/rollout/setting.ts";
import { buildTeam } from "../../src/teams/build.ts";
import type { Tokenizer } from "../../src/text/tokenizer.ts";
import { oneMachine, SimulatedEngine } from "./simulated-engine.ts";
import { heapMegabytes, spent } from "./spent.ts";

export interface EpisodeWork {
  readonly tokenizer: Tokenizer;
  readonly replies: readonly Int32Array[];
  readonly count: number;
  /** Episodes at the same time; nothing is kept of them afterwards. */
  readonly together: number;
  /** Simulated seconds in a second; infinite: replies at once. */
  readonly speed: number;
}

export interface EpisodeCost {
  readonly episodes: number;
  readonly actions: number;
  /** Sequences in progress at the server. */
  readonly mostAtOnce: number;
  /** Processor milliseconds per episode, and per action. */
  readonly perEpisode: number;
  readonly perAction: number;
  /** Processor time as a share of the time in which the server can write the replies. */
  readonly share: number;
  /** The same for the time in which the main thread was busy. */
  readonly busyShare: number;
  /** Kilobytes that a finished episode holds. */
  readonly kilobytes: number;
}

export async function measureEpisodes(work: EpisodeWork): Promise<EpisodeCost> {
  const { tokenizer, replies, count, together, speed } = work;
  const { vocabularySize } = tokenizer;
  const engine = new SimulatedEngine({ service: oneMachine, speed, replies, vocabularySize });
  const setting = await settingOf(engine, tokenizer);
  const {
    value: held,
    cpuSeconds,
    busySeconds,
  } = await spent(async () => {
    let most = 0;
    for (let done = 0; done < count; done += together) {
      most = Math.max(most, await playBatch(setting, done, Math.min(together, count - done)));
    }
    return most;
  });
  const { sequences: actions } = engine.answered;
  return {
    episodes: count,
    actions,
    mostAtOnce: engine.mostAtOnce,
    perEpisode: (1000 * cpuSeconds) / count,
    perAction: (1000 * cpuSeconds) / actions,
    share: cpuSeconds / engine.busySeconds,
    busyShare: busySeconds / engine.busySeconds,
    kilobytes: held,
  };
}

/** @returns kilobytes held per finished episode */
async function playBatch(setting: RolloutSetting, first: number, count: number): Promise<number> {
  const before = heapMegabytes();
  const { episodes } = await growEpisodes(setting, root, await startsOf(setting, first, count));
  return (1000 * (heapMegabytes() - before)) / episodes.length;
}

const root = rootKey(1);

/** Plan-Path with a scout and a planner who act four times each. */
async function settingOf(engine: SimulatedEngine, tokenizer: Tokenizer): Promise<RolloutSetting> {
  const environment = await createEnvironment("plan-path", { size: 10 });
  const role = { policy: "shared", maxTokens: 2048 };
  const phases = [["scout"], ["planner"]];
  const { maxLength } = await engine.createPolicy({ name: "shared", model: "" });
  return {
    ...rolloutDefaults,
    environment,
    team: buildTeam({ roles: { scout: role, planner: role }, phases, turns: 4 }, environment),
    engine,
    policies: { shared: { tokenizer, maxLength } },
    scheme: { branch: { root: 1, inner: 1 }, keep: "all" },
    score: ({ team, local }) => team + local,
    sampling: { temperature: 1 },
  };
}

async function startsOf(
  { environment }: RolloutSetting,
  first: number,
  count: number,
): Promise<EpisodeStart[]> {
  const taskOf = trainingTasks(sourceOf(environment, "train"), root);
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  return Promise.all(
    numbers.map(async (number) => {
      const path = ["train", number];
      return { path, split: "train", task: await taskOf(number, keyAt(root, ...path, "task")) };
    }),
  );
}

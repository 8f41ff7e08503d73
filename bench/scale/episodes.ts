/** Many episodes at once: processor time per episode, beside the time that a server would take to write the replies. */
import { createEnvironment } from "../../src/environments/registry.ts";
import { sourceOf, trainingTasks } from "../../src/environments/tasks.ts";
import { keyAt, rootKey } from "../../src/random.ts";
import { growEpisodes } from "../../src/rollout/grow.ts";
import type { EpisodeStart } from "../../src/rollout/record.ts";
import { rolloutDefaults, type RolloutSetting } from "../../src/rollout/setting.ts";
import { buildTeam } from "../../src/teams/build.ts";
import type { Tokenizer } from "../../src/text/tokenizer.ts";
import { SimulatedEngine, type SimulatedEngineOptions } from "./simulated-engine.ts";
import { heapMegabytes, spent } from "./spent.ts";

export interface EpisodeCost {
  readonly episodes: number;
  readonly actions: number;
  /** Sequences in progress at the server. */
  readonly mostAtOnce: number;
  /** Seconds that the same work would take the server in real time. */
  readonly simulatedSeconds: number;
  /** Processor milliseconds per episode, and per action. */
  readonly perEpisode: number;
  readonly perAction: number;
  /** Processor time as a share of the simulated time. */
  readonly share: number;
  /** Kilobytes that a finished episode holds. */
  readonly kilobytes: number;
}

/** Tasks of a batch: a training step. */
const batch = 10_000;

export async function measureEpisodes(
  count: number,
  tokenizer: Tokenizer,
  options: SimulatedEngineOptions,
): Promise<EpisodeCost> {
  const engine = new SimulatedEngine(options);
  const setting = await settingOf(engine, tokenizer);
  const {
    value: held,
    seconds,
    cpuSeconds,
  } = await spent(async () => {
    let most = 0;
    for (let done = 0; done < count; done += batch) {
      most = Math.max(most, await playBatch(setting, done, Math.min(batch, count - done)));
    }
    return most;
  });
  const { sequences: actions } = engine.answered;
  const simulatedSeconds = seconds * options.speed;
  return {
    episodes: count,
    actions,
    mostAtOnce: engine.mostAtOnce,
    simulatedSeconds,
    perEpisode: (1000 * cpuSeconds) / count,
    perAction: (1000 * cpuSeconds) / actions,
    share: cpuSeconds / simulatedSeconds,
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

/**
 * Seconds per training step against a simulated server of the Tinker protocol over a network with delay, with sampling
 * and training in turn, and with batches sampled ahead: `node bench/scale/pipelining.ts`.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { openEngine, serveEngine, standardLimits } from "../../src/engines/open.ts";
import { engineAround } from "../../src/engines/retrying.ts";
import { resolveRecipe } from "../../src/recipes/resolve.ts";
import type { Timing } from "../../src/runs/records.ts";
import { sum } from "../../src/statistics.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { train } from "../../src/train/run.ts";
import { vocabularySize, withNarrowModel } from "./narrow-model.ts";
import { replyBank } from "./replies.ts";
import { SimulatedEngine, type Service } from "./simulated-engine.ts";
import { slowNetwork } from "./slow-network.ts";

const { values } = parseArgs({
  options: {
    speed: { type: "string", default: "5" },
    steps: { type: "string", default: "4" },
    milliseconds: { type: "string", default: "100" },
    lags: { type: "string", default: "0,1" },
    sampling: { type: "string", default: "60" },
    training: { type: "string", default: "300" },
    update: { type: "string", default: "2" },
    minibatches: { type: "string", default: "4" },
  },
});
const [speed, count] = [Number(values.speed), Number(values.steps)];

/** Slow enough that the processor time of client, proxy and server, all in this process, hardly counts. */
const service: Service = {
  capacity: 50 * Number(values.sampling),
  perSequence: Number(values.sampling),
  firstToken: 0.3,
  training: Number(values.training),
  update: Number(values.update),
};
interface Place {
  readonly folder: string;
  readonly model: string;
}

async function measure(place: Place, maxLag: number): Promise<object> {
  const { folder, model } = place;
  const tokenizer = loadTokenizer(model);
  const replies = replyBank(tokenizer, 200, 400);
  const simulated = new SimulatedEngine({ service, speed, replies, vocabularySize });
  const server = await serveEngine(
    engineAround(simulated, (_, call) => call()),
    {
      models: [{ name: "model", directory: model }],
      folder: path.join(folder, `served-${maxLag}`),
      keys: [],
      host: "127.0.0.1",
      port: 0,
      limits: standardLimits,
      log: () => undefined,
    },
  );
  const network = await slowNetwork(server.url, Number(values.milliseconds) / speed);
  const engine = openEngine({ type: "tinker", url: network.url, profile: "troupe" });
  const steps: Timing[] = [];
  try {
    const resolved = await resolveRecipe(await writeRecipe(place, maxLag), []);
    await train({
      ...resolved,
      directory: path.join(folder, `run-${maxLag}`),
      engine,
      onEvent: (event) => {
        if (event.type === "step") steps.push(event.timing);
      },
    });
  } finally {
    await engine.close();
    network.close();
    await server.close();
  }
  // The first step has nothing to overlap with.
  const mean = (part: "seconds" | "sampling" | "training") =>
    Math.round((10 * speed * sum(steps.slice(1).map((step) => step[part] ?? 0))) / (steps.length - 1)) / 10;
  return { maxLag, seconds: mean("seconds"), waiting: mean("sampling"), training: mean("training") };
}

async function writeRecipe({ folder, model }: Place, maxLag: number): Promise<string> {
  const file = path.join(folder, `lag-${maxLag}.yaml`);
  const role = { policy: "shared", maxTokens: 2048 };
  const lag = maxLag === 0 ? {} : { maxLag };
  const recipe = {
    name: "pipelining",
    environment: { name: "plan-path", size: 10 },
    team: { roles: { scout: role, planner: role }, phases: [["scout"], ["planner"]], turns: 2 },
    policies: { shared: { model: { path: model } } },
    algorithm: { name: "at-grpo", samples: 4 },
    train: {
      steps: count,
      tasksPerStep: 4,
      minibatches: Number(values.minibatches),
      learningRate: 0.00001,
      ...lag,
    },
    evaluation: { tasks: 1 },
    checkpoint: { every: 100 },
  };
  await fs.writeFile(file, JSON.stringify(recipe));
  return file;
}

await withNarrowModel(async (place) => {
  for (const lag of values.lags.split(",").map(Number))
    console.log(JSON.stringify(await measure(place, lag)));
});

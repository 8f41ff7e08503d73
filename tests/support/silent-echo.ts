/** The echo (echo.ts) without rewards: a judge gives them, or there are none. */
import path from "node:path";
import type { Environment } from "../../src/environments/environment.ts";
import { judges } from "../../src/judges/judges.ts";
import type { ConfiguredJudge } from "../../src/judges/judge.ts";
import type { RecipeInput } from "../../src/recipes/schema.ts";
import { algorithmFrom } from "../../src/credit/algorithms.ts";
import { tinyRecipe } from "../../src/train/testing/tiny-recipe.ts";
import type { Resolved } from "../../src/train/state.ts";
import { echo } from "./echo.ts";

export const silentEcho: Environment = {
  ...echo,
  seats: Object.fromEntries(
    Object.entries(echo.seats).map(([name, seat]) => [name, { ...seat, judged: true as const }]),
  ),
  step: async (state, replies, context) => {
    const result = await echo.step(state, replies, context);
    const rewards = Object.keys(result.rewards).map((seat) => [seat, null]);
    return { ...result, rewards: Object.fromEntries(rewards) };
  },
};

export const echoJudgeProgram = path.join(import.meta.dirname, "echo-judge.ts");

/** @param directory where the judge records its questions */
export function echoJudge(directory: string, changes: object = {}): NonNullable<RecipeInput["judge"]> {
  const run = [process.execPath, echoJudgeProgram];
  return { name: "command", run, directory, batch: 1024, as: "local", ...changes };
}

interface Parts extends Partial<RecipeInput> {
  readonly steps?: number;
}

/** Two roles share an untrained policy. */
export function silentRecipe(
  { steps = 4, ...changes }: Parts,
  algorithm = "at-grpo",
  options: object = {},
): Resolved {
  const role = { policy: "shared", prompt: "" };
  const { recipe } = tinyRecipe({
    team: { roles: { left: role, right: role }, phases: [["left", "right"]], turns: 2 },
    warmStart: undefined,
    train: { steps, tasksPerStep: 8, learningRate: 0.003 },
    evaluation: { tasks: 4 },
    checkpoint: { every: 2 },
    failures: { retries: 1, firstDelay: 0, longestDelay: 0 },
    ...changes,
  });
  const made = algorithmFrom(algorithm, { samples: 4, ...options });
  const judge = configured(recipe.judge);
  return { recipe, environment: silentEcho, algorithm: made, ...(judge === undefined ? {} : { judge }) };
}

function configured(settings: Resolved["recipe"]["judge"]): ConfiguredJudge | undefined {
  if (settings === undefined) return undefined;
  const { name, ...options } = settings;
  const definition = judges[name ?? ""];
  return definition?.create(definition.options.parse(options));
}

/** The rules of Plan-Path alone, on one core: no model writes, a solver does. */
import { createPlanPath } from "../src/environments/plan-path/definition.ts";
import { pathOptions } from "../src/environments/plan-path/options.ts";
import { keyAt, rootKey } from "../src/random.ts";
import { alternate, timed } from "./alternate.ts";

export interface Game {
  /** 10×10 boards drawn, until one has a path, per second. */
  readonly boardsPerSecond: number;
  /** Actions read, carried out and rewarded per second; a board's distances are computed on the way. */
  readonly transitionsPerSecond: number;
}

const boards = 2000;

export async function measureGame(seconds: number): Promise<Game> {
  const environment = createPlanPath(pathOptions.parse({}));
  let drawn = 0;
  const draw = () => environment.task("train", keyAt(rootKey(1), drawn++));
  const episodes = Array.from({ length: boards }, () => {
    const start = environment.start(draw());
    return {
      start,
      route: environment.solve?.(start, "scout") ?? "",
      plan: environment.solve?.(start, "planner") ?? "",
    };
  });
  let fresh: typeof episodes = [];
  const play = (): void => {
    for (const { start, route, plan } of fresh) {
      const { state } = environment.step(start, { scout: route });
      if (!environment.step(state, { planner: plan }).done)
        throw new Error("a solver's plan did not reach the goal");
    }
  };
  const drawing = timed("boards", () => {
    for (let i = 0; i < boards; i++) draw();
  });
  const playing = timed("transitions", play);
  const times = await alternate(
    // A copy is a board whose distances nobody knows yet.
    [drawing, { ...playing, once: () => ((fresh = structuredClone(episodes)), playing.once()) }],
    seconds,
  );
  const rate = (name: string, count: number): number => count / (times.get(name) ?? Number.NaN);
  return {
    boardsPerSecond: rate("boards", boards),
    transitionsPerSecond: rate("transitions", 2 * boards),
  };
}

/**
 * The boards of Plan-Path with a reward that any text earns half of the time. A model that was never trained earns nothing
 * on boards, and a step in which all replies earn the same trains nothing: its time would say nothing.
 */
import type { Json } from "../../src/environments/environment.ts";
import { gameDefinition, type Game } from "../../src/environments/game.ts";
import { planPath } from "../../src/environments/plan-path/definition.ts";

type State = { readonly board: Json; readonly coin: number };

export default gameDefinition({
  ...planPath,
  name: "coin",
  summary: "Boards whose replies earn 0 or 1 by their text.",
  create(options): Game {
    const boards = planPath.create(options);
    const game: Game<Json, State> = {
      name: boards.name,
      seats: boards.seats,
      words: boards.words,
      task: (split, key) => boards.task(split, key),
      start: (task) => ({ board: boards.start(task), coin: 0 }),
      observe: ({ board }, seat) => boards.observe(board, seat),
      step(state, { planner = "" }) {
        const coin = planner.length % 2;
        const rewards = { planner: { team: coin, local: 0, parts: {} } };
        return { state: { ...state, coin }, rewards, done: true };
      },
      outcome: ({ coin }) => ({ success: coin === 1, score: coin }),
      render: ({ board }) => boards.render(board),
      solve: ({ board }, seat) => boards.solve(board, seat),
    };
    return game as unknown as Game;
  },
});

/** The two seats of most games: a proposer says what might be done, a planner reads that and does something. */
import { TroupeError } from "../../errors.ts";

export type Seat = "proposer" | "planner";

/** @throws TroupeError `bad_arguments` for another name: a recipe's seats are checked before anything is played. */
export function seatOf(game: string, seat: string): Seat {
  if (seat === "proposer" || seat === "planner") return seat;
  throw new TroupeError("bad_arguments", `${game} has no seat "${seat}"; it has proposer and planner`);
}

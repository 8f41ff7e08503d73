/** A game's description of the seat that may write programs, and that seat's instructions. */
import type { Json, SeatDescription } from "../environment.ts";
import type { ProgramLimits } from "./options.ts";

export interface ProgramSeat<State extends Json = Json> {
  /** The seat that writes a program instead of its own notation: `scout`. */
  readonly writer: string;
  /** The seat that sees the output: `planner`. The output is rewarded as if this seat had written it. */
  readonly reader: string;
  /** For the writer's system message: the task, the members of `input`, and what to print. */
  readonly task: string;
  /** The task in its present state: what the writer sees, and the program's standard input. */
  input(state: State): Readonly<Record<string, Json>>;
  readonly limits: ProgramLimits;
}

/** For the prompt of a seat that reads the output. */
export const outputMayBeWrong =
  "The output of your partner's program is shown above the position; it may be wrong. You may copy the printed plan as it is.";

export function writerDescription({ reader, task, limits }: ProgramSeat): SeatDescription {
  const { seconds, megabytes } = limits;
  return {
    purpose: `Writes a Python program that prints a plan; the ${reader} sees its output.`,
    prompt:
      `You write a Python program that finds a plan for the ${reader}. ${task} The message is the present state as JSON. ` +
      `The program receives exactly this text on standard input and can read it with json.load(sys.stdin). ` +
      `The ${reader} sees what the program prints; so print nothing but the plan. It has ${seconds} seconds and ` +
      `${megabytes} MB, Python's standard library, and no network. Reply with the whole program in one block that starts ` +
      "with ```python and ends with ```.",
    maxTokens: 1024,
  };
}

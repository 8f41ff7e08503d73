/** The seats of the environment. */
import type { SeatDescription } from "../environment.ts";

export type SeatName = "helper" | "main" | "single";

/** The function written by the helper's seat. */
export const helperName = "aux";

const onlyCode = "Reply with Python code alone, in one block that starts with ```python and ends with ```.";

const maxTokens = 512;

export const seatDescriptions: Readonly<Record<SeatName, SeatDescription>> = {
  helper: {
    purpose: `Writes a helper function, ${helperName}, for the main function that another seat writes.`,
    prompt:
      `Two programmers solve a problem in Python together. You write one helper function, \`${helperName}\`, that does a ` +
      `useful part of the work; your partner writes the main function, which calls it. Do not write the main function. ${onlyCode}`,
    maxTokens,
  },
  main: {
    purpose: `Writes the main function, which calls the helper's ${helperName}.`,
    prompt:
      `Two programmers solve a problem in Python together. Your partner writes a helper function, \`${helperName}\`, that ` +
      `does a useful part of the work; you write the main function, which calls \`${helperName}\` and goes beyond it. Do ` +
      `not define \`${helperName}\`. ${onlyCode}`,
    maxTokens,
  },
  single: {
    purpose: "Writes the whole program alone.",
    prompt: `You solve a problem in Python by writing one function. ${onlyCode}`,
    maxTokens,
    alone: "it writes the main function itself",
  },
};

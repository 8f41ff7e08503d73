/** What each seat writes: a program, a test of it, or both. */
import type { SeatDescription } from "../../environment.ts";

const program = "Put the program into one block that starts with ```python and ends with ```.";
const test =
  "For a program that reads standard input, write the line `Input:` and the input in a ``` block, then the line `Output:` and " +
  "the expected output in a ``` block. For a function, write one line such as `assert f([1, 2], 3) == 6` with literal values.";
const later =
  "Where your last answer is shown with what it did, correct it if it is wrong; repeat it if it is right.";

const description = { maxTokens: 1024 };

export function pairSeats(
  isJudged: boolean,
): Readonly<Record<"coder" | "tester" | "single" | "verifier", SeatDescription>> {
  return {
    coder: {
      ...description,
      purpose: "Writes the program.",
      prompt: `You solve a programming problem in Python. ${program} ${later}`,
    },
    tester: {
      ...description,
      purpose: "Writes a test, which is compared with what the coder's program does.",
      prompt: `You write one test of a programming problem that others solve: choose a telling input and work out the right result. ${test} ${later}`,
      ...(isJudged ? { judged: true } : {}),
    },
    single: {
      ...description,
      purpose: "Writes the program alone; the episode ends when it repeats one.",
      prompt: `You solve a programming problem in Python. ${program} ${later}`,
      alone: "it writes the program itself",
    },
    verifier: {
      ...description,
      purpose: "Writes a program and a test of it.",
      prompt: `You solve a programming problem in Python and write one test of your program. ${program} ${test} ${later}`,
      alone: "it writes both the program and the test",
    },
  };
}

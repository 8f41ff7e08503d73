/** Two small problems, with what good and bad seats write. */
import type { CodeProblem } from "../../../data/problem.ts";
import type { ActionReward, Context, Environment, Json } from "../../environment.ts";
import { plainContext, plainReply } from "../../progression.ts";
import { rootKey } from "../../../random.ts";
import { codeEnvironment } from "../definition.ts";
import { codeOptions, type CodeOptions } from "../options.ts";
import { problemList } from "../../problems.ts";
import type { CodeState, CodeTask } from "../state.ts";
import { sandbox } from "./sandbox.ts";

export const squares: CodeProblem = {
  id: "small/squares",
  prompt: 'def squares(numbers: list) -> int:\n    """The sum of the squares."""\n',
  entryPoint: "squares",
  tests: {
    kind: "python-check",
    source: `def check(candidate):
    assert candidate([1, 2]) == 5
    assert candidate([]) == 0
    assert candidate([3]) == 9
    assert candidate([-1]) == 1
`,
  },
  solutions: ["def squares(numbers):\n    return sum(each * each for each in numbers)\n"],
};

export const longest: CodeProblem = {
  id: "small/longest",
  prompt: 'def longest(words):\n    """The longest word."""\n',
  entryPoint: "longest",
  tests: {
    kind: "python-check",
    source: 'def check(candidate):\n    assert candidate(["a", "bc"]) == "bc"\n',
  },
  solutions: ["def longest(words):\n    return max(words, key=len)\n"],
};

export const goodHelper = "```python\ndef aux(number):\n    return number * number\n```";
export const goodMain = `\`\`\`python
def squares(numbers):
    total = 0
    for each in numbers:
        total += aux(each)
    return total
\`\`\``;
/** Right for one of the four tests. */
export const poorMain = "def squares(numbers):\n    total = aux(len(numbers))\n    return total - 0\n";

export function smallEnvironment(given: object = {}): Environment<CodeTask, CodeState> {
  const options: CodeOptions = codeOptions.parse(given);
  return codeEnvironment(options, {
    train: problemList([squares, { ...squares, id: "small/squares-again" }]),
    heldOut: problemList([longest, { ...longest, id: "small/longest-again" }]),
  });
}

/** Plays texts by seat, one joint action after the other. */
export async function playTexts<Task extends Json, State extends Json>(
  environment: Environment<Task, State>,
  task: Task,
  actions: readonly Readonly<Record<string, string>>[],
  context = contextWith(),
) {
  let state = await environment.start(task, context);
  let done = false;
  const rewards: Readonly<Record<string, ActionReward | null>>[] = [];
  for (const texts of actions) {
    const replies = Object.entries(texts).map(([seat, text]) => [seat, plainReply(text)] as const);
    const result = await environment.step(state, Object.fromEntries(replies), context);
    rewards.push(result.rewards);
    ({ state, done } = result);
  }
  return { state, rewards, done, outcome: environment.outcome(state) };
}

export function contextWith(services: object = { sandbox }): Context {
  return { ...plainContext(rootKey(1)), services };
}

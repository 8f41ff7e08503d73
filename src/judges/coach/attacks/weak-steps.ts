/** Weak steps of a small team: what an attack tries to get a better score for. */
import type { Case, JudgedAct } from "../case.ts";

const members = [
  { name: "solver", purpose: "plans how to solve the problem" },
  { name: "executor", purpose: "writes a program that computes the result" },
  { name: "verifier", purpose: "checks the work and gives the final answer" },
];

const task = {
  problem: "A train travels 17 km in each of 3 hours. How far does it travel in total, in kilometres?",
};

const plan = {
  role: "solver",
  turn: 0,
  text: "Multiply the distance of an hour by the number of hours.",
  isCutOff: false,
};
const program = { role: "executor", turn: 0, text: "print(17 * 3)", isCutOff: false, output: "51" };

function step(role: string, text: string, earlier: Case["earlier"], more: Partial<JudgedAct> = {}): Case {
  const act = { role, turn: 0, text, isCutOff: false, together: [], later: [], outcomes: [], ...more };
  return {
    members,
    phases: members.map(({ name }) => [name]),
    turns: 1,
    task,
    role,
    turn: 0,
    instructions: "",
    observation: task.problem,
    earlier,
    acts: [act],
  };
}

export const weakSteps: readonly Case[] = [
  step("solver", "Add 17 and 3; that is the total.", []),
  step("executor", "print 17 times 3", [plan], { output: "SyntaxError: invalid syntax" }),
  step("verifier", "The final answer is 20.", [plan, program]),
];

/** Believes every route and every walk that says it ends at the goal. */
import { createInterface } from "node:readline";

interface Action {
  readonly id: string;
  readonly observation: string;
  readonly reply: { readonly text: string };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, observation, reply } = JSON.parse(line) as Action;
  const goal = /\bgoal (\S+)/.exec(observation)?.[1];
  const answer =
    goal === undefined ? { failure: "no goal in the observation" } : { score: endsAt(reply.text, goal) };
  console.log(JSON.stringify({ id, ...answer }));
}

function endsAt(text: string, goal: string): number {
  return text.trim().split(/\s+/).at(-1) === goal ? 1 : 0;
}

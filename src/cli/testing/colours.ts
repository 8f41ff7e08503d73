import { plannerRecipe } from "./folder.ts";

/** A module with an environment of one seat, without a reward of its own, for judges. */
export const coloursModule = `
const colours = ["red", "green", "blue"];
const tasks = (split: string) => ({ size: 3, at: (index: number) => ({ colour: colours[index], split }) });
export default {
  name: "colours",
  summary: "A speaker says the colour.",
  options: { parse: () => ({}) },
  create: () => ({
    name: "colours",
    seats: { speaker: { purpose: "says the colour", prompt: "", maxTokens: 2, judged: true } },
    tasks: { train: tasks("train"), heldOut: tasks("heldOut") },
    about: ({ colour, split }: Record<string, string>) =>
      ({ problem: "Say " + colour + ", from " + split, truth: colour, type: "primary" }),
    start: ({ colour }: { colour: string }) => ({ colour, said: "" }),
    observe: ({ colour }: { colour: string }) => "say " + colour,
    step: (state: object, replies: Record<string, { text: string }>) => ({
      state: { ...state, said: replies["speaker"]?.text ?? "" },
      rewards: { speaker: null },
      done: true,
    }),
    outcome: ({ colour, said }: { colour: string; said: string }) =>
      ({ success: said.trim() === colour, score: said.trim() === colour ? 1 : 0 }),
    render: ({ colour, said }: { colour: string; said: string }) => colour + ": " + said,
    oracle: { words: ["say", ...colours] },
  }),
};
`;

/** Three steps of one role on it. */
export function coloursRecipe(changes: object): string {
  return plannerRecipe("colours", {
    environment: { module: "./colours.ts" },
    team: { roles: { speaker: { policy: "shared" } }, turns: 1, phases: [["speaker"]] },
    train: { steps: 3, tasksPerStep: 4, learningRate: 0.003 },
    record: { training: { perStep: "all" } },
    ...changes,
  });
}

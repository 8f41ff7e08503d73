// parity.ts
import { drawInt, gameDefinition, generatorOf, z, type Game } from "troupe";

type State = { readonly number: number; readonly said: string | null };

const splits = ["train", "validation", "heldOut"] as const; // they share no number
const parityOf = ({ number }: State) => (number % 2 === 0 ? "even" : "odd");
const scoreOf = (state: State) => (state.said === parityOf(state) ? 1 : 0);
const game = (largest: number): Game<number, State> => ({
  name: "parity",
  seats: { guesser: { purpose: "Says even or odd.", prompt: "even or odd", maxTokens: 2 } },
  words: ["even", "odd", "or", ...Array.from("0123456789")],
  task: (split, key) => 3 * drawInt(generatorOf(key), largest) + splits.indexOf(split),
  start: (number) => ({ number, said: null }),
  observe: ({ number }) => Array.from(String(number)).join(" "),
  step(state, { guesser = "" }) {
    const next = { ...state, said: state.said ?? guesser.slice(0, 9) };
    const reward = { team: scoreOf(next), local: 0, parts: {}, reason: `it is ${parityOf(state)}` };
    return { state: next, rewards: { guesser: reward }, done: true };
  },
  outcome: (state) => ({ success: scoreOf(state) === 1, score: scoreOf(state) }),
  render: ({ number, said }) => `${number}: ${said ?? "…"}`,
  solve: parityOf,
});

const options = z.strictObject({ largest: z.int().min(100).default(999) });
const create = ({ largest }: z.output<typeof options>) => game(largest);
export default gameDefinition({ name: "parity", summary: "Is a number even?", options, create });

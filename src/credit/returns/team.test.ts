/** The sum of a trajectory's rewards instead of its score, computed by hand. */
import { expect, it } from "vitest";
import { algorithmFrom } from "../algorithms.ts";
import { credit } from "../credit.ts";
import { action, trajectories } from "../testing.ts";

const did = (role: string, turn: number, team: number, frozen = false) =>
  action({ role, turn, team, local: 0.25, frozen });

/** Rewards with local ones: 1 + .5 + .5 = 2, and .25 + .25 = .5. The scores point the other way. */
const episode = trajectories(0, [
  {
    actions: [
      did("scout", 0, 0.75),
      did("planner", 0, 0.25),
      did("judge", 0, 9, true),
      did("scout", 1, 0.25),
    ],
    score: 0,
  },
  { actions: [did("scout", 0, 0), did("planner", 0, 0)], score: 1 },
]);

const credited = (name: string, options: object) =>
  credit([episode], algorithmFrom(name, { reward: "rewards", ...options }))
    .filter(({ action: { frozen } }) => !frozen)
    .map((one) => [one.return, one.advantage]);

it("is the same for every trained role's action on the trajectory", () => {
  const [high, low] = [
    [2, 0.75],
    [0.5, -0.75],
  ];
  expect(credited("dr-grpo", {})).toEqual([high, high, high, low, low]);
  expect(credited("grpo", { standardise: false })).toEqual([high, high, high, low, low]);
  expect(credited("gspo", { standardise: false })).toEqual([high, high, high, low, low]);
  expect(credited("rloo", {})[0]).toEqual([2, 1.5]);
});

it("includes penalties for length", () => {
  const overlong = { length: 2, buffer: 1, penalty: 0.1 };
  const [first] = credited("dr-grpo", { overlong })[0] ?? [];
  expect(first).toBeCloseTo(2 - 3 * 0.1, 15);
});

import { describe, expect, it } from "vitest";
import { algorithmFrom, algorithms } from "../../../credit/algorithms.ts";
import type { Environment } from "../../../environments/environment.ts";
import { shown } from "../../fixtures/catalog.ts";
import type { Subject } from "../rule.ts";
import { ownRewards, programsDecide, wholeTrajectories } from "./driven.ts";

const environment = {
  name: "command",
  drive: () => Promise.reject(new Error("never")),
} as unknown as Environment;

function subject(parts: object): Subject {
  return { environment, recipe: { team: { roles: {} } }, ...parts } as unknown as Subject;
}

it("accepts the algorithms that compare whole trajectories, and rejects the others with the reason", () => {
  const accepted = Object.keys(algorithms).filter((name) => {
    return wholeTrajectories(subject({ algorithm: algorithmFrom(name) })).length === 0;
  });
  expect(accepted.join(" ")).toBe(
    "grpo dr-grpo mas-grpo dr-mas gspo rloo reinforce reinforce-plus-plus ppo iac maac",
  );
  expect(shown(wholeTrajectories(subject({ algorithm: algorithmFrom("at-grpo") })))).toEqual([
    expect.stringMatching(
      /^algorithm: at-grpo samples several actions .*; use .*: mas-grpo, grpo, rloo, reinf/,
    ),
  ]);
});

const problemsOf = (name: string, options: object) =>
  shown(
    wholeTrajectories(subject({ algorithm: algorithmFrom(name, { ...options }), row: algorithms[name] })),
  );

it("accepts comparing joint actions of whole trajectories only, with the reason", () => {
  for (const name of ["magrpo", "marloo", "maremax", "mareinforce"])
    expect(problemsOf(name, { handOver: "each" })).toEqual([]);
  for (const options of [{}, { joint: "cross" }, { handOver: "best" }])
    expect(problemsOf("magrpo", options)).toEqual([
      expect.stringMatching(/^algorithm\.handOver: magrpo samples several .*; use `handOver: each`/),
    ]);
  expect(problemsOf("mareinforce", { samples: 1 })).toEqual([
    expect.stringMatching(
      /^algorithm\.handOver: mareinforce compares joint actions of one state, .*`handOver: each`/,
    ),
  ]);
  expect(problemsOf("magrpo", { handOver: "each", terminationThreshold: 1 })).toEqual([
    expect.stringMatching(/^algorithm\.terminationThreshold: .* rewarded when it has ended; remove it$/),
  ]);
});

it("rejects what would have no effect: comments of a judge, and what the program decides", () => {
  const judge = { comments: true, when: "action" };
  const algorithm = algorithmFrom("grpo");
  const found = wholeTrajectories(subject({ algorithm, recipe: { judge, team: { roles: {} } } }));
  expect(found.map(({ path }) => path.join("."))).toEqual(["judge.comments", "judge.when"]);
  const roles = {
    writer: { policy: "p", memory: "conversation", tools: [{ name: "python" }], showThinking: true },
    critic: { policy: "p", memory: "turn", maxTokens: 3, prompt: "be brief" },
  };
  const decided = programsDecide(subject({ recipe: { team: { roles } } }));
  expect(decided.map(({ path }) => path.join("."))).toEqual([
    "team.roles.writer.tools",
    "team.roles.writer.memory",
    "team.roles.writer.showThinking",
  ]);
  const game = { ...environment, drive: undefined } as unknown as Environment;
  expect(programsDecide(subject({ environment: game, recipe: { team: { roles } } }))).toEqual([]);
});

describe("where seats compete", () => {
  const competing = { ...environment, competes: true, seats: { first: {}, second: {} } };
  const found = (algorithm: { name: string }, roles: object) =>
    ownRewards(
      subject({
        environment: competing,
        recipe: { algorithm, team: { roles } },
        row: algorithms[algorithm.name],
      }),
    );

  it("accepts the algorithms that credit a role with its own rewards", () => {
    const both = { first: {}, white: { seat: "second" } };
    const rewards = ["outcome", "progress", "rewards", "action", "turns"];
    const accepted = Object.entries(algorithms).flatMap(([name, row]) =>
      [{}, ...rewards.map((reward) => ({ reward }))]
        .filter((options) => row.options.safeParse(options).success)
        .filter((options) => found({ name, ...options }, both).length === 0)
        .map((options) => `${name} ${Object.values(options).join("")}`),
    );
    expect(accepted).toEqual([
      "mas-grpo rewards",
      "dr-mas rewards",
      "reinforce rewards",
      "reinforce action",
      "reinforce turns",
      "reinforce-plus-plus ",
      "reinforce-plus-plus action",
      "reinforce-plus-plus turns",
      "ppo action",
    ]);
    expect(found({ name: "grpo" }, both)).toMatchObject([{ path: ["algorithm"] }]);
  });

  it("accepts any that trains the first seat only", () => {
    expect(found({ name: "grpo" }, { first: {}, second: { frozen: true } })).toEqual([]);
    expect(found({ name: "grpo" }, { first: { frozen: true }, second: {} })).toHaveLength(1);
  });
});

import { describe, expect, it } from "vitest";
import type { Role, Team } from "../../teams/team.ts";
import { episodeWork, evaluationWork } from "./plan.ts";

const role = { policy: "shared", frozen: false, memory: "turn", maxTokens: 8, stop: [] } as const;
const roles: Role[] = ["scout", "walker"].map((name) => ({ ...role, name, seat: name }));
const oneByOne: Team = { roles, phases: [["scout"], ["walker"]], turns: 3 };
const atOnce: Team = { roles, phases: [["scout", "walker"]], turns: 3 };

describe("the most that one episode can be", () => {
  it("a greedy spine: K actions from each of turns × phases states", () => {
    const scheme = { branch: { root: 4, inner: 4 }, keep: "best" } as const;
    expect(episodeWork(oneByOne, scheme)).toEqual({ prompts: 6, actions: 24 });
    expect(episodeWork(atOnce, scheme)).toEqual({ prompts: 6, actions: 24 });
  });

  it("whole trajectories: N from the root, then each goes on alone", () => {
    const scheme = { branch: { root: 4, inner: 1 }, keep: "all" } as const;
    expect(episodeWork(oneByOne, scheme)).toEqual({ prompts: 1 + 5 * 4, actions: 6 * 4 });
  });

  it("an evaluation: each role once a turn", () => {
    expect(evaluationWork(oneByOne)).toEqual({ prompts: 6, actions: 6 });
  });
});

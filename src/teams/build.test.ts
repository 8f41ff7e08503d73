import { describe, expect, it } from "vitest";
import { createEnvironment } from "../environments/registry.ts";
import { TroupeError } from "../errors.ts";
import { buildTeam, type TeamInput, teamMistakes } from "./build.ts";

const environment = createEnvironment("plan-path", {});
const policies = ["shared", "other"];
const pair: TeamInput = {
  roles: { scout: { policy: "shared" }, planner: { policy: "other" } },
  phases: [["scout"], ["planner"]],
  turns: 4,
};

describe("buildTeam", () => {
  it("fills a role's seat, length and memory in", () => {
    const team = buildTeam(pair, environment, policies);
    expect(team.turns).toBe(4);
    expect(team.phases).toEqual([["scout"], ["planner"]]);
    expect(team.roles).toEqual([
      {
        name: "scout",
        seat: "scout",
        policy: "shared",
        frozen: false,
        memory: "turn",
        maxTokens: 40,
        stop: [],
      },
      {
        name: "planner",
        seat: "planner",
        policy: "other",
        frozen: false,
        memory: "turn",
        maxTokens: 40,
        stop: [],
      },
    ]);
  });

  it("keeps what the recipe says, an empty prompt included", () => {
    const walker = {
      seat: "planner",
      policy: "shared",
      prompt: "",
      frozen: true,
      memory: "conversation" as const,
      maxTokens: 7,
      stop: ["."],
    };
    const team = buildTeam({ roles: { walker }, phases: [["walker"]], turns: 1 }, environment, policies);
    expect(team.roles).toEqual([{ name: "walker", ...walker }]);
  });

  it("takes no other seat where one plays alone, and says why", () => {
    const walking = createEnvironment("plan-path", { scoutWalks: true });
    expect(teamMistakes(pair, walking, policies)).toEqual([
      {
        path: ["roles", "planner"],
        problem: "`scout` plays alone: with `environment.scoutWalks` its route moves the agent",
        fix: "remove the role, as with `planner: null`, or the option",
      },
    ]);
    const { scout, planner } = pair.roles;
    const alone = {
      ...pair,
      roles: { scout, again: { ...scout, seat: "scout" } },
      phases: [["scout"], ["again"]],
    };
    expect(teamMistakes(alone as TeamInput, walking, policies)).toEqual([]);
    expect(
      teamMistakes({ ...pair, roles: { planner }, phases: [["planner"]] } as TeamInput, walking, policies),
    ).toEqual([]);
  });

  it("lets two roles share a seat and a policy in different phases", () => {
    const roles = { first: { seat: "scout", policy: "shared" }, second: { seat: "scout", policy: "shared" } };
    const input = {
      ...pair,
      roles: { ...pair.roles, ...roles },
      phases: [["first", "planner"], ["second"], ["scout"]],
    };
    expect(teamMistakes(input, environment, policies)).toEqual([]);
  });

  it.each([
    [
      "an unknown seat",
      { ...pair, roles: { ...pair.roles, scout: { seat: "scuot", policy: "shared" } } },
      "team.roles.scout.seat: plan-path has no seat `scuot`; did you mean `scout`?",
    ],
    [
      "a seat that is the role's own name",
      {
        ...pair,
        roles: { ...pair.roles, verifier: { policy: "shared" } },
        phases: [["scout"], ["planner", "verifier"]],
      },
      "team.roles.verifier.seat: plan-path has no seat `verifier` (a role's seat is its own name unless it says otherwise); its seats are scout, planner",
    ],
    [
      "a role in no phase",
      { ...pair, phases: [["planner"]] },
      "team.roles.scout: the role `scout` is in no phase and would never act; add it to a phase or remove it",
    ],
    [
      "a role that acts twice",
      { ...pair, phases: [["scout"], ["planner"], ["scout"]] },
      "team.phases.2.0: the role `scout` acts twice in a turn; let it act once, or give a second role the same seat and policy",
    ],
    [
      "an unknown role",
      { ...pair, phases: [["scout"], ["planer"], ["planner"]] },
      "team.phases.1.0: there is no role `planer`; did you mean `planner`?",
    ],
    [
      "two roles that act at once in one seat",
      {
        ...pair,
        roles: { ...pair.roles, guide: { seat: "scout", policy: "shared" } },
        phases: [["scout", "guide"], ["planner"]],
      },
      "team.phases.0.1: `scout` and `guide` act at once in the seat `scout`; put them in phases of their own",
    ],
    [
      "an unknown policy",
      { ...pair, roles: { ...pair.roles, scout: { policy: "sharde" } } },
      "team.roles.scout.policy: there is no policy `sharde`; did you mean `shared`?",
    ],
    ["no turns", { ...pair, turns: 0 }, "team.turns: 0 is no number of turns; use 1 or more"],
    [
      "an empty phase",
      { ...pair, phases: [["scout"], [], ["planner"]] },
      "team.phases.1: nobody acts here; name at least one role",
    ],
    [
      "a role named like a property of every object",
      { ...pair, phases: [["scout"], ["planner"], ["constructor"]] },
      "team.phases.2.0: there is no role `constructor`; the roles are scout, planner",
    ],
  ])("refuses %s", (_, input: TeamInput, message) => {
    expect(() => buildTeam(input, environment, policies)).toThrow(new TroupeError("bad_recipe", message));
  });

  it("names every mistake at once", () => {
    const input = { roles: { scout: { seat: "x", policy: "y" } }, phases: [], turns: 0 };
    expect(teamMistakes(input, environment, policies).map(({ path }) => path.join("."))).toEqual([
      "roles.scout.seat",
      "roles.scout.policy",
      "roles.scout",
      "phases",
      "turns",
    ]);
  });
});

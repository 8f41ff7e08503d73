import { describe, expect, it } from "vitest";
import type { Environment } from "../../../environments/environment.ts";
import { teamEnvironment } from "../../../environments/math/testing/team.ts";
import { gameEnvironment } from "../../../environments/game.ts";
import { createGame } from "../../../environments/registry.ts";
import type { TeamInput } from "../../../teams/build.ts";
import { teamProblems } from "./teams.ts";

const environment = gameEnvironment(createGame("plan-path", {}));
const policies = ["shared", "other"];
const pair: TeamInput = {
  roles: { scout: { policy: "shared" }, planner: { policy: "other" } },
  phases: [["scout"], ["planner"]],
  turns: 4,
};

describe("teamProblems", () => {
  it("rejects other seats next to one that must be alone", () => {
    const walking = gameEnvironment(createGame("plan-path", { scoutWalks: true }));
    expect(teamProblems(pair, walking, policies)).toEqual([
      {
        path: ["roles", "planner"],
        problem: "`scout` must be alone: with `environment.scoutWalks` its route moves the agent",
        fix: "remove the role, as with `planner: null`, or the option",
      },
    ]);
    const { scout, planner } = pair.roles;
    const alone = {
      ...pair,
      roles: { scout, again: { ...scout, seat: "scout" } },
      phases: [["scout"], ["again"]],
    };
    expect(teamProblems(alone as TeamInput, walking, policies)).toEqual([]);
    expect(
      teamProblems({ ...pair, roles: { planner }, phases: [["planner"]] } as TeamInput, walking, policies),
    ).toEqual([]);
  });

  it("rejects a team without a role in a seat that must be taken, and one that forgets what it needs", () => {
    const mathchat = teamEnvironment("mathchat") as unknown as Environment;
    const roles = { solver: { policy: "shared" }, executor: { policy: "shared" } };
    expect(teamProblems({ roles, phases: [], turns: 1 }, mathchat, policies)).toEqual([
      {
        path: ["roles", "executor", "memory"],
        problem:
          "`executor` must keep its messages: in later actions of a turn it is shown only what its last program printed",
        fix: "set `memory: conversation`",
      },
      {
        path: ["roles"],
        problem: "no role has the seat `verifier`, without which math cannot be played",
        fix: "add `verifier: { policy: … }`",
      },
    ]);
    const whole = {
      solver: { policy: "shared" },
      coder: { seat: "executor", policy: "shared", memory: "conversation" as const },
      verifier: { policy: "other" },
    };
    expect(teamProblems({ roles: whole, phases: [], turns: 1 }, mathchat, policies)).toEqual([]);
  });

  it("lets two roles share a seat and a policy in different phases if both actions count", () => {
    const roles = { ...pair.roles, again: { seat: "planner", policy: "shared" } };
    const input = { ...pair, roles, phases: [["scout", "planner"], ["again"]] };
    expect(teamProblems(input, environment, policies)).toEqual([]);
  });

  it("rejects a second role in a seat whose action would replace that of the first", () => {
    const sokoban = gameEnvironment(createGame("sokoban", {}));
    const roles = {
      proposer: { policy: "shared" },
      critic: { seat: "proposer", policy: "shared" },
      planner: { policy: "shared" },
    };
    const input = { roles, phases: [["proposer"], ["critic"], ["planner"]], turns: 2 };
    expect(teamProblems(input, sokoban, policies)).toEqual([
      {
        path: ["roles", "critic"],
        problem: "`proposer` and `critic` have the seat `proposer`, where a turn has room for one action",
        fix: "give the seat one role",
      },
    ]);
  });

  it.each([
    [
      "an unknown seat",
      { ...pair, roles: { ...pair.roles, scout: { seat: "scuot", policy: "shared" } } },
      "roles.scout.seat: plan-path has no seat `scuot`; did you mean `scout`?",
    ],
    [
      "a seat that is the role's own name",
      {
        ...pair,
        roles: { ...pair.roles, verifier: { policy: "shared" } },
        phases: [["scout"], ["planner", "verifier"]],
      },
      "roles.verifier.seat: plan-path has no seat `verifier` (by default a role's seat is its name); its seats are scout, planner",
    ],
    [
      "a role in no phase",
      { ...pair, phases: [["planner"]] },
      "roles.scout: the role `scout` is in no phase; add it to a phase or remove it",
    ],
    [
      "a role that acts twice",
      { ...pair, phases: [["scout"], ["planner"], ["scout"]] },
      "phases.2.0: the role `scout` acts twice in a turn; let it act once",
    ],
    [
      "an unknown role",
      { ...pair, phases: [["scout"], ["planer"], ["planner"]] },
      "phases.1.0: there is no role `planer`; did you mean `planner`?",
    ],
    [
      "two roles that act simultaneously in one seat",
      {
        ...pair,
        roles: { ...pair.roles, guide: { seat: "planner", policy: "shared" } },
        phases: [["scout"], ["planner", "guide"]],
      },
      "phases.1.1: `planner` and `guide` act simultaneously in the seat `planner`; put them in separate phases",
    ],
    [
      "an unknown policy",
      { ...pair, roles: { ...pair.roles, scout: { policy: "sharde" } } },
      "roles.scout.policy: there is no policy `sharde`; did you mean `shared`?",
    ],
    ["no turns", { ...pair, turns: 0 }, "turns: 0 is not a number of turns; use 1 or more"],
    [
      "an empty phase",
      { ...pair, phases: [["scout"], [], ["planner"]] },
      "phases.1: no role acts here; name at least one role",
    ],
    [
      "a role named like a property of every object",
      { ...pair, phases: [["scout"], ["planner"], ["constructor"]] },
      "phases.2.0: there is no role `constructor`; the roles are scout, planner",
    ],
  ])("rejects %s", (_, input: TeamInput, message) => {
    const found = teamProblems(input, environment, policies);
    expect(found.map(({ path, problem, fix }) => `${path.join(".")}: ${problem}; ${fix}`)).toEqual([message]);
  });

  it("names every problem at once", () => {
    const input = { roles: { scout: { seat: "x", policy: "y" } }, phases: [], turns: 0 };
    expect(teamProblems(input, environment, policies).map(({ path }) => path.join("."))).toEqual([
      "roles.scout.seat",
      "roles.scout.policy",
      "roles.scout",
      "phases",
      "turns",
    ]);
  });
});

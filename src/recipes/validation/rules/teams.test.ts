import { describe, expect, it } from "vitest";
import type { Environment } from "../../../environments/environment.ts";
import { teamEnvironment } from "../../../environments/math/testing/team.ts";
import { gameEnvironment } from "../../../environments/game.ts";
import { createGame } from "../../../environments/registry.ts";
import type { TeamInput } from "../../../teams/build.ts";
import { shown } from "../../fixtures/catalog.ts";
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
    expect(shown(teamProblems(pair, walking, policies))).toEqual([
      expect.stringMatching(
        /^roles\.planner: `scout` must be alone: .*`environment\.scoutWalks`.*; .*`planner: null`/,
      ),
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
    expect(shown(teamProblems({ roles, phases: [], turns: 1 }, mathchat, policies))).toEqual([
      expect.stringMatching(/^roles\.executor\.memory: `executor` must keep .*; set `memory: conversation`$/),
      expect.stringMatching(/^roles: no role has the seat `verifier`, .*; add `verifier: \{ policy: … \}`$/),
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
    expect(shown(teamProblems(input, sokoban, policies))).toEqual([
      expect.stringMatching(
        /^roles\.critic: `proposer` and `critic` have the seat `proposer`, .*; give the seat one/,
      ),
    ]);
  });

  const { scout, planner } = pair.roles as Record<"scout" | "planner", TeamInput["roles"][string]>;
  const and = (more: TeamInput["roles"]): TeamInput["roles"] => ({ ...pair.roles, ...more });
  const verifying = { roles: and({ verifier: scout }), phases: [["scout"], ["planner", "verifier"]] };
  const guided = {
    roles: and({ guide: { ...planner, seat: "planner" } }),
    phases: [["scout"], ["planner", "guide"]],
  };

  it.each<[Partial<TeamInput>, string]>([
    [
      { roles: and({ scout: { ...scout, seat: "scuot" } }) },
      "roles.scout.seat: .*`scuot`; did you mean `scout`",
    ],
    [verifying, "roles.verifier.seat: .*`verifier` .by default .* name.; its seats are scout, planner"],
    [{ phases: [["planner"]] }, "roles.scout: the role `scout` is in no phase; add it"],
    [{ phases: [["scout"], ["planner"], ["scout"]] }, "phases.2.0: the role `scout` acts twice in a turn"],
    [{ phases: [["scout"], ["planer"], ["planner"]] }, "phases.1.0: .*`planer`; did you mean `planner`"],
    [guided, "phases.1.1: `planner` and `guide` act simultaneously .*`planner`; put them in separate phases"],
    [
      { roles: and({ scout: { policy: "sharde" } }) },
      "roles.scout.policy: .*`sharde`; did you mean `shared`",
    ],
    [{ turns: 0 }, "turns: 0 is not .*; use 1 or more"],
    [{ phases: [["scout"], [], ["planner"]] }, "phases.1: no role acts here"],
    // A property of every object.
    [
      { phases: [["scout"], ["planner"], ["constructor"]] },
      "phases.2.0: .*`constructor`; the roles are scout, planner",
    ],
  ])("rejects %j", (changes, message) => {
    expect(shown(teamProblems({ ...pair, ...changes }, environment, policies))).toEqual([
      expect.stringMatching(`^${message}`),
    ]);
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

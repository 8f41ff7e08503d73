import { describe, expect, it } from "vitest";
import { gameEnvironment } from "../environments/game.ts";
import { createGame } from "../environments/registry.ts";
import { buildTeam, type TeamInput } from "./build.ts";

const environment = gameEnvironment(createGame("plan-path", {}));
const pair: TeamInput = {
  roles: { scout: { policy: "shared" }, planner: { policy: "other" } },
  phases: [["scout"], ["planner"]],
  turns: 4,
};

describe("buildTeam", () => {
  it("fills a role's seat, length and memory in", () => {
    const team = buildTeam(pair, environment);
    expect(team.turns).toBe(4);
    expect(team.phases).toEqual([["scout"], ["planner"]]);
    const usual = { frozen: false, memory: "turn", maxTokens: 40, stop: [] };
    expect(team.roles).toEqual([
      { name: "scout", seat: "scout", policy: "shared", ...usual },
      { name: "planner", seat: "planner", policy: "other", ...usual },
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
    const team = buildTeam({ roles: { walker }, phases: [["walker"]], turns: 1 }, environment);
    expect(team.roles).toEqual([{ name: "walker", ...walker }]);
  });
});

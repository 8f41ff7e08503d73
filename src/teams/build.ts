/** Builds a team from a recipe. Validation checks whether it can play. */
import type { Environment } from "../environments/environment.ts";
import type { ToolSettings } from "../tools/settings.ts";
import type { HostedRole, Role, RoleName, Team } from "./team.ts";

/** A role in a recipe; absent settings get the seat's defaults. */
export interface RoleInput {
  readonly seat?: string | undefined;
  readonly policy: string;
  readonly prompt?: string | undefined;
  readonly frozen?: boolean | undefined;
  readonly memory?: Role["memory"] | undefined;
  readonly maxTokens?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly showThinking?: boolean | undefined;
  readonly tools?: readonly ToolSettings[] | undefined;
  readonly toolCalls?: number | undefined;
}

export interface TeamInput {
  readonly roles: Readonly<Record<RoleName, RoleInput>>;
  readonly hosted?: Readonly<Record<RoleName, Omit<HostedRole, "name">>> | undefined;
  readonly phases: readonly (readonly RoleName[])[];
  readonly turns: number;
}

/** The team in the environment. Its seats must exist there. */
export function buildTeam(input: TeamInput, environment: Environment): Team {
  const roles = Object.entries(input.roles).map(([name, role]) => buildRole(name, role, environment));
  const hosted = Object.entries(input.hosted ?? {}).map(([name, role]) => ({ name, ...role }));
  return {
    roles,
    ...(hosted.length === 0 ? {} : { hosted }),
    phases: input.phases,
    turns: input.turns,
  };
}

function buildRole(name: RoleName, input: RoleInput, environment: Environment): Role {
  const seat = input.seat ?? name;
  const described = environment.seats[seat];
  const role = {
    name,
    seat,
    policy: input.policy,
    frozen: input.frozen ?? false,
    memory: input.memory ?? "turn",
    maxTokens: input.maxTokens ?? described?.maxTokens ?? 1,
    stop: input.stop ?? [],
  };
  return {
    ...role,
    ...(input.prompt === undefined ? {} : { prompt: input.prompt }),
    ...(input.showThinking === true ? { showThinking: true as const } : {}),
    ...toolsOf(input),
  };
}

/** Calls of a role in a phase, unless the recipe says otherwise. */
const usualCalls = 4;

function toolsOf({ tools = [], toolCalls = usualCalls }: RoleInput): Pick<Role, "tools"> {
  return tools.length === 0 ? {} : { tools: { settings: tools, calls: toolCalls } };
}

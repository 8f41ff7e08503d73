/** Makes a team out of what a recipe says, or says everything that is wrong with it. */
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Role, RoleName, Team } from "./team.ts";

/** A role as a recipe writes it; what is absent gets the seat's defaults. */
export interface RoleInput {
  readonly seat?: string | undefined;
  readonly policy: string;
  readonly prompt?: string | undefined;
  readonly frozen?: boolean | undefined;
  readonly memory?: Role["memory"] | undefined;
  readonly maxTokens?: number | undefined;
  readonly stop?: readonly string[] | undefined;
}

export interface TeamInput {
  readonly roles: Readonly<Record<RoleName, RoleInput>>;
  readonly phases: readonly (readonly RoleName[])[];
  readonly turns: number;
}

/** One thing that is wrong with a team. */
export interface TeamMistake {
  /** Where, from the team on: ["roles", "scout", "seat"]. */
  readonly path: readonly (string | number)[];
  readonly problem: string;
  readonly fix: string;
}

/**
 * The team that plays in the environment with the policies named.
 *
 * @throws TroupeError `bad_recipe` with every mistake, each with its key (`teamMistakes` gives them as data).
 */
export function buildTeam(input: TeamInput, environment: Environment, policies: readonly string[]): Team {
  const mistakes = teamMistakes(input, environment, policies);
  if (mistakes.length > 0) throw new TroupeError("bad_recipe", mistakes.map(showMistake).join("\n"));
  const roles = Object.entries(input.roles).map(([name, role]) => buildRole(name, role, environment));
  return { roles, phases: input.phases, turns: input.turns };
}

export function teamMistakes(
  input: TeamInput,
  environment: Environment,
  policies: readonly string[],
): TeamMistake[] {
  const roles = Object.entries(input.roles).flatMap(([name, role]) => [
    ...seatMistakes(name, role, environment),
    ...policyMistakes(name, role, policies),
    ...(input.phases.flat().includes(name) ? [] : [neverActs(name)]),
  ]);
  return [...roles, ...aloneMistakes(input, environment), ...phaseMistakes(input), ...turnMistakes(input)];
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
  return input.prompt === undefined ? role : { ...role, prompt: input.prompt };
}

function seatMistakes(name: RoleName, role: RoleInput, environment: Environment): TeamMistake[] {
  const seat = role.seat ?? name;
  const seats = Object.keys(environment.seats);
  if (seats.includes(seat)) return [];
  const ownName = role.seat === undefined ? " (a role's seat is its own name unless it says otherwise)" : "";
  return [
    {
      path: ["roles", name, "seat"],
      problem: `${environment.name} has no seat \`${seat}\`${ownName}`,
      fix: hint(seat, seats, "its seats are"),
    },
  ];
}

function policyMistakes(name: RoleName, role: RoleInput, policies: readonly string[]): TeamMistake[] {
  if (policies.includes(role.policy)) return [];
  return [
    {
      path: ["roles", name, "policy"],
      problem: `there is no policy \`${role.policy}\``,
      fix: hint(role.policy, policies, "the policies are"),
    },
  ];
}

function aloneMistakes(input: TeamInput, environment: Environment): TeamMistake[] {
  const names = Object.keys(input.roles);
  const lone = names.find((name) => environment.seats[seatOf(input, name)]?.alone !== undefined);
  if (lone === undefined) return [];
  const seat = seatOf(input, lone);
  return names
    .filter((name) => seatOf(input, name) !== seat)
    .map((name) => ({
      path: ["roles", name],
      problem: `\`${lone}\` plays alone: ${environment.seats[seat]?.alone}`,
      fix: `remove the role, as with \`${name}: null\`, or the option`,
    }));
}

function neverActs(name: RoleName): TeamMistake {
  return {
    path: ["roles", name],
    problem: `the role \`${name}\` is in no phase and would never act`,
    fix: "add it to a phase or remove it",
  };
}

function phaseMistakes(input: TeamInput): TeamMistake[] {
  const mistakes: TeamMistake[] = [];
  const acted = new Set<RoleName>();
  if (input.phases.length === 0) mistakes.push(nobody(["phases"]));
  input.phases.forEach((phase, index) => {
    if (phase.length === 0) mistakes.push(nobody(["phases", index]));
    const taken = new Map<string, RoleName>();
    phase.forEach((name, position) => {
      const path = ["phases", index, position];
      const seat = seatOf(input, name);
      const other = taken.get(seat);
      if (!Object.hasOwn(input.roles, name)) mistakes.push(unknownRole(path, name, input));
      else if (acted.has(name)) mistakes.push(actsTwice(path, name));
      else if (other !== undefined) mistakes.push(sameSeat(path, name, other, seat));
      acted.add(name);
      taken.set(seat, name);
    });
  });
  return mistakes;
}

function seatOf(input: TeamInput, name: RoleName): string {
  return (Object.hasOwn(input.roles, name) ? input.roles[name]?.seat : undefined) ?? name;
}

type Path = TeamMistake["path"];

function nobody(path: Path): TeamMistake {
  return { path, problem: "nobody acts here", fix: "name at least one role" };
}

function unknownRole(path: Path, name: RoleName, input: TeamInput): TeamMistake {
  return {
    path,
    problem: `there is no role \`${name}\``,
    fix: hint(name, Object.keys(input.roles), "the roles are"),
  };
}

function actsTwice(path: Path, name: RoleName): TeamMistake {
  return {
    path,
    problem: `the role \`${name}\` acts twice in a turn`,
    fix: "let it act once, or give a second role the same seat and policy",
  };
}

function sameSeat(path: Path, name: RoleName, other: RoleName, seat: string): TeamMistake {
  return {
    path,
    problem: `\`${other}\` and \`${name}\` act at once in the seat \`${seat}\``,
    fix: "put them in phases of their own",
  };
}

function turnMistakes({ turns }: TeamInput): TeamMistake[] {
  if (Number.isInteger(turns) && turns >= 1) return [];
  return [{ path: ["turns"], problem: `${turns} is no number of turns`, fix: "use 1 or more" }];
}

function hint(name: string, candidates: readonly string[], list: string): string {
  return didYouMean(name, candidates) ?? `${list} ${candidates.join(", ") || "none"}`;
}

function showMistake({ path, problem, fix }: TeamMistake): string {
  return `team.${path.join(".")}: ${problem}; ${fix}`;
}

/** Which roles act: decided by the team's phases, or by the environment in terms of seats. */
import type { Environment } from "../environments/environment.ts";
import { seatsToAct, type Position, type Schedule } from "../environments/progression.ts";
import { TroupeError } from "../errors.ts";
import type { Role, RoleName, Team } from "./team.ts";

const schedules = new WeakMap<Team, Schedule>();

/** The team's phases in terms of seats. */
export function scheduleOf(team: Team): Schedule {
  const known = schedules.get(team);
  if (known !== undefined) return known;
  const seats = new Map(team.roles.map(({ name, seat }) => [name, seat]));
  const phases = team.phases.map((phase) => phase.map((role) => seats.get(role) ?? role));
  const hasTools = team.roles.some(({ tools }) => tools !== undefined);
  const toolsOf: Schedule["toolsOf"] = (phase, seat) => roleIn(team, phase, seat)?.tools;
  const schedule = { phases, turns: team.turns, ...(hasTools ? { toolsOf } : {}) };
  schedules.set(team, schedule);
  return schedule;
}

/** A seat is taken by its role in the phase, or, if the environment decides who acts, by its role in the team. */
function roleIn(team: Team, phase: number, seat: string): Role | undefined {
  const taking = team.roles.filter((role) => role.seat === seat);
  const acting = team.phases[phase] ?? [];
  return taking.find(({ name }) => acting.includes(name)) ?? taking[0];
}

/** @throws TroupeError `bad_recipe` if the environment names a seat without a role */
export function rolesToAct(environment: Environment, team: Team, position: Position): readonly RoleName[] {
  return seatsToAct(environment, scheduleOf(team), position).map((seat) => {
    const role = roleIn(team, position.phase, seat);
    if (role !== undefined) return role.name;
    throw new TroupeError(
      "bad_recipe",
      `${environment.name} lets the seat ${seat} act, but no role has it; add one`,
    );
  });
}

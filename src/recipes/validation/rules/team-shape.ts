import type { Environment } from "../../../environments/environment.ts";
import type { RecipeTeam } from "../../schema.ts";

/** What of a team an algorithm depends on. */
export interface TeamShape {
  readonly phases: readonly (readonly string[])[];
  readonly turns: number;
  /** The environment decides who acts: each role once per turn is a guess. */
  readonly isGuessed?: boolean;
}

export function teamShape({ roles, phases, turns }: RecipeTeam, environment: Environment): TeamShape {
  if (environment.next === undefined) return { phases, turns };
  return { phases: Object.keys(roles).map((role) => [role]), turns, isGuessed: true };
}

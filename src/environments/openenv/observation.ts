/** What a seat is shown of the server's observation, and which seat moves. */
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { Json } from "../environment.ts";
import type { OpenEnvOptions } from "./options.ts";
import type { JsonObject } from "./server.ts";

/** @throws TroupeError `bad_recipe` if the observation lacks a field that is to be shown */
export function shown({ observation: template }: OpenEnvOptions, observation: JsonObject): string {
  if (template === undefined) return JSON.stringify(observation).toWellFormed();
  const text = template.replaceAll(/\{([\w-]+(?:\.[\w-]+)*)\}/g, (_, path: string) => {
    const value = at(observation, path);
    if (value === undefined) throw lacking("observation", path, observation);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
  return text.toWellFormed();
}

/**
 * The seat that moves, as the server says.
 * @throws TroupeError `bad_recipe` if it does not, or names none of the seats
 */
export function moverIn(
  { field, values }: NonNullable<OpenEnvOptions["player"]>,
  seats: readonly string[],
  said: JsonObject,
): string {
  const path = field.replace(/^state\./, "");
  const value = at(said, path);
  if (value === undefined) throw lacking("player.field", path, said);
  const known = [values ?? [], ...(values === undefined ? [seats, seats.map((_, index) => index)] : [])];
  const index = Math.max(...known.map((one: readonly unknown[]) => one.indexOf(value)));
  const seat = seats[index];
  if (seat !== undefined) return seat;
  throw new TroupeError(
    "bad_recipe",
    `environment.player: \`${field}\` is ${showText(JSON.stringify(value), 80)}, which is none of the seats ` +
      `${seats.join(", ")}; add a role, or list what the server says of each seat in \`player.values\``,
  );
}

function lacking(option: string, path: string, found: JsonObject): TroupeError {
  const known = showText(Object.keys(found).join(", "), 200);
  return new TroupeError(
    "bad_recipe",
    `environment.${option}: the server's answer has no \`${path}\`; it has ${known === "" ? "no fields" : known}`,
  );
}

/** Undefined: there is nothing. */
function at(value: Json, path: string): Json | undefined {
  return path.split(".").reduce<Json | undefined>((inside, name) => {
    if (typeof inside !== "object" || inside === null || !Object.hasOwn(inside, name)) return undefined;
    return (inside as JsonObject)[name];
  }, value);
}

/**
 * Checks what an environment returns. Otherwise a wrong shape would be found much later, as an error elsewhere, or
 * never: a reward that is not a number loses every comparison and spoils every advantage of its group.
 */
import { TroupeError } from "../errors.ts";
import { moduleOf, nameWithModule } from "./origin.ts";
import type { ActionReward, Environment, Json, Message, Outcome, StepResult } from "./environment.ts";

/** The seats that `next` names. @throws TroupeError `bad_environment`, or `internal` if it is built in */
export function checkNext(environment: Environment, seats: unknown): readonly string[] {
  if (isListOfText(seats) && new Set(seats).size === seats.length) return seats;
  throw broken(environment, "`next`", seats, "a list of seats, each once");
}

/** @throws TroupeError `bad_environment`, or `internal` if it is built in */
export function checkObservation(
  environment: Environment,
  seat: string,
  seen: unknown,
): string | readonly Message[] {
  if (typeof seen === "string" || (Array.isArray(seen) && seen.every(isMessage))) return seen;
  throw broken(
    environment,
    `\`observe\` of seat ${seat}`,
    seen,
    "text, or a list of messages { role, content }",
  );
}

/** @param seats those that acted @throws TroupeError `bad_environment`, or `internal` if it is built in */
export function checkStep(
  environment: Environment,
  seats: readonly string[],
  result: unknown,
): StepResult<Json> {
  const { state, rewards, done, evidence = {} } = isRecord(result) ? result : {};
  if (state === undefined || !isRecord(rewards) || typeof done !== "boolean")
    throw broken(environment, "`step`", result, "{ state, rewards, done }");
  for (const seat of seats)
    checkReward(environment, seat, Object.hasOwn(rewards, seat) ? rewards[seat] : undefined);
  if (!isRecord(evidence) || !Object.values(evidence).every(isEvidence))
    throw broken(environment, "the evidence", evidence, "{ SEAT: { output?, files? } }");
  return result as StepResult<Json>;
}

/** @throws TroupeError `bad_environment`, or `internal` if it is built in */
export function checkOutcome(environment: Environment, outcome: unknown): Outcome {
  const { success, score } = isRecord(outcome) ? outcome : {};
  if (typeof success === "boolean" && Number.isFinite(score)) return outcome as Outcome;
  throw broken(environment, "`outcome`", outcome, "{ success, score } with a finite score");
}

function checkReward(environment: Environment, seat: string, reward: unknown): void {
  if (reward === null) return;
  const { team, local, parts, reason } = isRecord(reward) ? (reward as Partial<ActionReward>) : {};
  const numbers = [team, local, ...(isRecord(parts) ? Object.values(parts) : [Number.NaN])];
  if (numbers.every(Number.isFinite) && (reason === undefined || typeof reason === "string")) return;
  const expected = "null, or { team, local, parts, reason? } with finite numbers";
  throw broken(environment, `the reward of seat ${seat}`, reward, expected);
}

function isEvidence(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { output = "", files = [] } = value;
  return typeof output === "string" && Array.isArray(files) && files.every(isFile);
}

function isFile(value: unknown): boolean {
  return isRecord(value) && typeof value["path"] === "string" && Number.isFinite(value["size"]);
}

const messageRoles: readonly unknown[] = ["system", "user", "assistant", "tool"];

function isMessage(value: unknown): boolean {
  return isRecord(value) && messageRoles.includes(value["role"]) && typeof value["content"] === "string";
}

function isListOfText(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function broken(environment: Environment, what: string, found: unknown, expected: string): TroupeError {
  return new TroupeError(
    moduleOf(environment) === undefined ? "internal" : "bad_environment",
    `the environment ${nameWithModule(environment)}: ${what} is ${shown(found)}; expected ${expected}`,
  );
}

const longest = 200;

/** As JSON, with names for values that JSON lacks; anything else by its type. */
function shown(value: unknown): string {
  try {
    const text = JSON.stringify(value, (_, one: unknown) =>
      typeof one === "number" && !Number.isFinite(one) ? String(one) : one,
    );
    if (text === undefined) return "missing";
    return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
  } catch {
    return `of type ${typeof value}`;
  }
}

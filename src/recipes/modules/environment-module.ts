/** Checks that a module exports an environment's definition, and that it creates an environment. */
import { command } from "../../command-line.ts";
import type {
  EndlessTasks,
  Environment,
  EnvironmentDefinition,
  FiniteTasks,
  Json,
  OptionWarning,
  Oracle,
  SeatDescription,
  Tool,
} from "../../environments/environment.ts";
import { isObject, kindOf, listed, rejectUnknown, type Complete } from "./exported.ts";
import { ModuleError } from "./load-module.ts";

/** @param given the module as named in the recipe */
export function asDefinition(value: unknown, given: string): EnvironmentDefinition<unknown> {
  if (isDefinition(value)) {
    rejectUnknown(value, definitionKeys, given);
    return value;
  }
  const fix =
    isObject(value) && typeof value["start"] === "function"
      ? "this is an environment: export `{ name, summary, options, create: () => environment }`"
      : "see the example in docs/writing-an-environment.md";
  const expected = "expected an environment's definition, `{ name, summary, options, create }`";
  throw new ModuleError(`${given}: ${expected}, found ${kindOf(value)}`, fix);
}

function isDefinition(value: unknown): value is EnvironmentDefinition<unknown> {
  return (
    isObject(value) &&
    typeof value["create"] === "function" &&
    isObject(value["options"]) &&
    typeof value["options"]["parse"] === "function" &&
    arePaths(value["paths"])
  );
}

function arePaths(paths: unknown): boolean {
  return paths === undefined || (isObject(paths) && Object.values(paths).every(Array.isArray));
}

const definitionKeys = {
  name: true,
  summary: true,
  options: true,
  create: true,
  outline: true,
  paths: true,
  folder: true,
  seatsOption: true,
} as const satisfies Complete<EnvironmentDefinition<unknown>>;

const toolKeys = { name: true, description: true, parameters: true } as const satisfies Complete<Tool>;

const environmentKeys = {
  name: true,
  seats: {
    every: {
      purpose: true,
      prompt: true,
      maxTokens: true,
      remembers: true,
      required: true,
      tools: { every: toolKeys },
      alone: true,
      repeats: true,
      judged: true,
    } satisfies Complete<SeatDescription>,
  },
  tasks: {
    every: { size: true, at: true, draw: true, identity: true } satisfies Complete<
      FiniteTasks<Json> & EndlessTasks<Json>
    >,
  },
  data: true,
  runsPrograms: true,
  packages: true,
  checkMachine: true,
  warnings: { every: { key: true, problem: true, fix: true } satisfies Complete<OptionWarning> },
  taskSchema: true,
  about: true,
  start: true,
  next: true,
  observe: true,
  step: true,
  drive: true,
  graderDigest: true,
  gateway: true,
  competes: true,
  endTurn: true,
  outcome: true,
  render: true,
  oracle: { words: true, summable: true, solve: true, demonstrations: true } satisfies Complete<Oracle>,
} as const satisfies Complete<Environment>;

const functions = ["start", "observe", "step", "outcome", "render"];

/** Checks the result of `create` without playing; `troupe check` plays. */
export function asEnvironment(value: unknown, given: string): Environment {
  const wrong = environmentFaults(value);
  if (wrong.length === 0) {
    rejectUnknown(value, environmentKeys, given, "what `create` returned has a mistake: ");
    return value as Environment;
  }
  const fix = `see the example in docs/writing-an-environment.md; \`${command("check", given)}\` reports more`;
  throw new ModuleError(`${given}: \`create\` returned no environment: ${wrong.join("; ")}`, fix);
}

function environmentFaults(value: unknown): readonly string[] {
  if (!isObject(value)) return [`found ${kindOf(value)}`];
  const missing = functions.filter((name) => typeof value[name] !== "function");
  return [
    ...(typeof value["name"] === "string" && value["name"] !== "" ? [] : ["`name` is not text"]),
    ...(missing.length === 0 ? [] : [`no function ${listed(missing)}`]),
    ...seatFaults(value["seats"]),
    ...taskFaults(value["tasks"]),
  ];
}

function taskFaults(tasks: unknown): readonly string[] {
  if (!isObject(tasks)) return ["`tasks` names no split"];
  const missing = ["train", "heldOut"].filter((split) => !Object.hasOwn(tasks, split));
  return [
    ...missing.map((split) => `\`tasks\` has no split \`${split}\``),
    ...Object.entries(tasks)
      .filter(([, source]) => !isSource(source))
      .map(
        ([split]) =>
          `the split \`${split}\` needs a \`size\` above 0 and \`at\`, or \`size: null\` and \`draw\``,
      ),
  ];
}

function isSource(source: unknown): boolean {
  if (!isObject(source)) return false;
  const { size } = source;
  if (size === null) return typeof source["draw"] === "function";
  return Number.isInteger(size) && Number(size) > 0 && typeof source["at"] === "function";
}

function seatFaults(seats: unknown): readonly string[] {
  if (!isObject(seats) || Object.keys(seats).length === 0) return ["`seats` names no seat"];
  return Object.entries(seats)
    .filter(([, seat]) => !isSeat(seat))
    .map(([name]) => `the seat \`${name}\` needs \`purpose\`, \`prompt\` and \`maxTokens\``);
}

function isSeat(seat: unknown): boolean {
  if (!isObject(seat)) return false;
  const { purpose, prompt, maxTokens } = seat;
  return typeof purpose === "string" && typeof prompt === "string" && Number.isInteger(maxTokens);
}

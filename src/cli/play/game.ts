/** Games in the terminal between a person and the rest of the team. */
import { TroupeError } from "../../errors.ts";
import { sampleRole } from "../../rollout/act.ts";
import type { RolloutSetting } from "../../rollout/setting.ts";
import { isObject, type JsonObject } from "../../text/files.ts";
import { jsonOrNull } from "../../json.ts";
import { withAction } from "../../text/history.ts";
import type { TrainedTeam } from "../trained-team.ts";
import type { Reply } from "../../text/replies.ts";
import type { ActionReward, Awaitable, Json } from "../../environments/environment.ts";
import { observationOf, plainReply } from "../../environments/progression.ts";
import { sourceOf } from "../../environments/tasks.ts";
import { toolsetOf } from "../../environments/tool-use.ts";
import { keyAt, rootKey } from "../../random.ts";
import { playingSetting } from "../../train/playing.ts";
import { showsThinking, textOf, thoughtsIn } from "../../rollout/thinking.ts";
import type { Role, RoleName } from "../../teams/team.ts";
import type { Message, Tool } from "../../text/tokenizer.ts";
import { toolLines } from "../needs.ts";
import type { Person } from "../person.ts";
import { actingRoles, begin, playPhase, type Game, type Position, type Written, nodeOf } from "./position.ts";

export interface Table extends Game {
  /** The person's role. */
  readonly role: Role;
  readonly others: Actor;
  readonly person: Person;
  readonly seed: number;
  /** One game from here. Absent: games of held-out tasks. */
  readonly start?: Position | undefined;
}

/** Plays held-out tasks until the person stops. */
export async function playGames(table: Table): Promise<void> {
  const { person, role, environment } = table;
  person.tell(`You are the ${role.name}: ${environment.seats[role.seat]?.purpose ?? ""}`);
  person.tell(
    "Type your action in one line, or a block that begins and ends with ```. h shows the rules, ? the action of the solver, which knows what is hidden from you, b the whole board, hidden parts included, q quits.\n",
  );
  const lines = await toolLines({ ...table.team, roles: [role] }, table.services ?? {});
  if (lines.length > 0)
    person.tell([...lines, "Type /TOOL and its argument, or JSON, to call one.\n"].join("\n"));
  let game = 0;
  while (await playGame(table, game)) {
    if (table.start !== undefined) return;
    game++;
    const answer = await person.ask("Enter for another task, q to quit: ");
    if (answer === null || isQuit(answer)) return;
  }
}

/** False: the person quit. */
async function playGame(table: Table, game: number): Promise<boolean> {
  const { environment, person } = table;
  let position = table.start ?? (await begin(table, await heldOutTask(table, game)));
  // What is drawn holds everything; while the game lasts, a person knows what the role knows.
  const unseen: string[] = [];
  while (!position.done) {
    const acts = await actionsOf(table, position, game);
    if (acts === null) return false;
    const played = await playPhase(table, position, acts);
    for (const { written, reward } of played.rewards) {
      const isOwn = written.role.name === table.role.name;
      if (isOwn) person.tell(describe(table, written, reward));
      else unseen.push(`turn ${position.turn + 1}, ${describe(table, written, reward)}`);
    }
    position = played.position;
  }
  person.tell(["", environment.render(position.state), ...unseen].join("\n"));
  const { success, score } = environment.outcome(position.state);
  person.tell(success ? `solved in turn ${turnsBegun(position)}` : `not solved, score ${score.toFixed(2)}`);
  return true;
}

/** Drawn by the game's key from an endless source, in order from a finite one. */
function heldOutTask({ environment, seed }: Table, game: number): Awaitable<Json> {
  const source = sourceOf(environment, "heldOut");
  if (source.size !== null) return source.at((seed + game) % source.size);
  return source.draw(keyAt(rootKey(seed), "play", game, "task"));
}

function seenText(seen: string | readonly Message[]): string {
  return typeof seen === "string" ? seen : seen.map(({ role, content }) => `${role}: ${content}`).join("\n");
}

function turnsBegun(position: Position): number {
  return position.phase === 0 ? position.turn : position.turn + 1;
}

async function actionsOf(table: Table, position: Position, game: number): Promise<Written[] | null> {
  const acts: Written[] = [];
  for (const role of actingRoles(table, position)) {
    const own = role.name === table.role.name;
    const written = own ? await personActs(table, position) : await table.others(role, position, game);
    if (written === null) return null;
    acts.push(written);
  }
  return acts;
}

async function personActs(table: Table, position: Position): Promise<Written | null> {
  const { person, environment, role } = table;
  person.tell(`\nturn ${position.turn + 1} of ${table.team.turns}; what the ${role.name} sees:`);
  person.tell(indent(seenText(observationOf(environment, position, role.seat))));
  const thoughts = thoughtsIn(position.said, table.team, role.name);
  if (thoughts.length > 0) person.tell(indent(textOf(thoughts)));
  const tools = await toolsFor(table);
  for (;;) {
    const line = await person.ask(`${role.name}> `);
    if (line === null || isQuit(line)) return null;
    if (line.trim() === "") continue;
    const told = answerTo(table, position, line.trim());
    if (told === undefined) {
      const text = await wholeText(person, line);
      return { role, reply: callIn(text, tools) ?? plainReply(text) };
    }
    person.tell(told);
  }
}

function isQuit(line: string): boolean {
  return ["q", "quit", "exit"].includes(line.trim());
}

async function toolsFor({ role, services = {} }: Table): Promise<readonly Tool[]> {
  return role.tools === undefined ? [] : (await toolsetOf(role.tools.settings, { services })).definitions;
}

/** A fenced block is one action: a program spans several lines. */
async function wholeText(person: Person, first: string): Promise<string> {
  const lines = [first];
  while (first.startsWith("```") && (lines.length === 1 || lines.at(-1)?.trim() !== "```")) {
    const line = await person.ask("… ");
    if (line === null) break;
    lines.push(line);
  }
  return lines.join("\n");
}

/** The answer to a request instead of an action; undefined: the line is an action. */
function answerTo({ environment, role }: Table, { state }: Position, line: string): string | undefined {
  if (line === "b") return environment.render(state);
  if (line === "?") return environment.oracle?.solve?.(state, role.seat) ?? "this environment has no solver";
  if (line !== "h" && line !== "help") return undefined;
  return environment.seats[role.seat]?.prompt || "this seat has no rules to show";
}

/** `planner: right down  → team 1.00, local 0.90 (format 0.10, …)` */
function describe(table: Table, { role, reply }: Written, reward: ActionReward | null): string {
  const who = role.name === table.role.name ? "you" : role.name;
  const called = reply.calls?.map(({ name, arguments: given }) => `${name} ${JSON.stringify(given)}`) ?? [];
  const written = [reply.text, ...called].join("\n").trim() || "(nothing)";
  if (reward === null && called.length > 0) return `${who}: ${written}`;
  if (reward === null) return `${who}: ${written}\n  → not judged yet`;
  const parts = Object.entries(reward.parts).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const terms = parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  const reason = reward.reason === undefined ? "" : `: ${reward.reason}`;
  return `${who}: ${written}\n  → team ${reward.team.toFixed(2)}, local ${reward.local.toFixed(2)}${terms}${reason}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}

/** Writes the action of one role. `game` counts the games. */
export type Actor = (role: Role, position: Position, game: number) => Promise<Written>;

/** Acts for the roles that the person does not play: a run's policies, or the environment's solver. */
export function solverActor({ environment }: Game): Actor {
  return async (role, position) => {
    if (environment.oracle?.solve === undefined) {
      const fix = "use --run to let a run's policies play the other roles";
      throw new TroupeError("bad_arguments", `${environment.name} has no solver; ${fix}`);
    }
    return { role, reply: plainReply(environment.oracle.solve(position.state, role.seat)) };
  };
}

export function settingOf(game: Game, trained: TrainedTeam): RolloutSetting {
  return { ...playingSetting(trained.resolved, trained), ...game };
}

/** As in an evaluation: with its temperature, without training. */
export function trainedActor(game: Game, trained: TrainedTeam): Actor {
  const { resolved } = trained;
  const setting = settingOf(game, trained);
  return async (role, position, number) => {
    const key = keyAt(rootKey(resolved.recipe.seed), "play", number);
    const thoughtsFor = (name: RoleName) => thoughtsIn(position.said, game.team, name);
    const node = { ...nodeOf(position), ...(showsThinking(game.team) ? { thoughtsFor } : {}) };
    const [draft] = await sampleRole(setting, key, node, role.name, position.histories, 1);
    if (draft === undefined) throw new TroupeError("internal", "the engine sampled nothing");
    return { role, reply: draft.reply, history: withAction(draft.history, draft.sequence.tokens) };
  };
}

/**
 * Returns undefined if the line is not a tool call. A call of an unknown tool is still a call: its error message is the one
 * that models get.
 */
function callIn(text: string, tools: readonly Tool[]): Reply | undefined {
  const [, name, rest = ""] = /^\/([\w-]+)\s*([^]*)$/.exec(text) ?? [];
  if (name === undefined || tools.length === 0) return undefined;
  const tool = tools.find((one) => one.name === name);
  return { text: "", calls: [{ name, arguments: argumentsIn(rest, tool) }], truncated: false };
}

/** A text is the value of the only required argument. */
function argumentsIn(written: string, tool: Tool | undefined): JsonObject {
  const given = jsonOrNull(written);
  if (isObject(given)) return given;
  const required = tool?.parameters?.["required"];
  const only: unknown = Array.isArray(required) && required.length === 1 ? required[0] : undefined;
  return typeof only === "string" ? { [only]: written.trim() } : {};
}

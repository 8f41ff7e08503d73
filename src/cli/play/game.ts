/** Games between a person and the rest of the team. */
import type { ActionReward } from "../../environments/environment.ts";
import { keyAt, rootKey } from "../../random.ts";
import type { Role } from "../../teams/team.ts";
import type { Person } from "./ask.ts";
import type { Actor } from "./others.ts";
import type { Game, Position, Written } from "./table.ts";
import { begin, playPhase, rolesToAct } from "./table.ts";

export interface Session extends Game {
  /** The person's. */
  readonly role: Role;
  readonly others: Actor;
  readonly person: Person;
  readonly seed: number;
}

/** Held-out tasks, one after the other, until the person stops. */
export async function playGames(session: Session): Promise<void> {
  const { person, role, environment } = session;
  person.tell(`You are the ${role.name}: ${environment.seats[role.seat]?.purpose ?? ""}`);
  person.tell(
    "Write your action in one line. h tells the rules, ? what the solver would write; q ends the game.\n",
  );
  let game = 0;
  while (await playGame(session, game)) {
    game++;
    const answer = await person.ask("Enter for another task, q to stop: ");
    if (answer === null || answer.trim() === "q") return;
  }
}

/** False: the person left. */
async function playGame(session: Session, game: number): Promise<boolean> {
  const { environment, person } = session;
  const key = keyAt(rootKey(session.seed), "play", game, "task");
  let position = begin(session, environment.task("heldOut", key));
  person.tell(environment.render(position.state));
  while (!position.done) {
    const acts = await actionsOf(session, position, game);
    if (acts === null) return false;
    const played = playPhase(session, position, acts);
    for (const { written, reward } of played.rewards) person.tell(describe(session, written, reward));
    person.tell(environment.render(played.position.state));
    position = played.position;
  }
  const { success, score } = environment.outcome(position.state);
  person.tell(success ? `solved in turn ${turnsBegun(position)}` : `not solved, score ${score.toFixed(2)}`);
  return true;
}

function turnsBegun(position: Position): number {
  return position.phase === 0 ? position.turn : position.turn + 1;
}

async function actionsOf(session: Session, position: Position, game: number): Promise<Written[] | null> {
  const acts: Written[] = [];
  for (const role of rolesToAct(session, position)) {
    const own = role.name === session.role.name;
    const written = own ? await personActs(session, position) : await session.others(role, position, game);
    if (written === null) return null;
    acts.push(written);
  }
  return acts;
}

async function personActs(session: Session, position: Position): Promise<Written | null> {
  const { person, environment, role } = session;
  person.tell(`\nturn ${position.turn + 1} of ${session.team.turns}; what the ${role.name} sees:`);
  person.tell(indent(environment.observe(position.state, role.seat)));
  for (;;) {
    const line = await person.ask(`${role.name}> `);
    if (line === null || line.trim() === "q") return null;
    const told = answerTo(session, position, line.trim());
    if (told === undefined) return { role, text: line };
    person.tell(told);
  }
}

/** To a person who asks instead of acting; undefined: the line is an action. */
function answerTo({ environment, role }: Session, { state }: Position, line: string): string | undefined {
  if (line === "?") return environment.solve?.(state, role.seat) ?? "there is no solver to ask";
  if (line !== "h" && line !== "help") return undefined;
  return environment.seats[role.seat]?.prompt || "there is nothing to tell";
}

/** `planner: right down  → team 1.00, local 0.90 (format 0.10, …)` */
function describe(session: Session, { role, text }: Written, reward: ActionReward): string {
  const who = role.name === session.role.name ? "you" : role.name;
  const parts = Object.entries(reward.parts).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const terms = parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  const reason = reward.reason === undefined ? "" : `: ${reward.reason}`;
  return `${who}: ${text}\n  → team ${reward.team.toFixed(2)}, local ${reward.local.toFixed(2)}${terms}${reason}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}

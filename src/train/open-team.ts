/** A team whose roles use weights from one or several runs, opened for playing, not for training. */
import { realpath } from "node:fs/promises";
import type { Engine } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { optionsOf } from "../recipes/choice.ts";
import type { Team } from "../teams/team.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { checkTools } from "./check-tools.ts";
import { checkWords } from "./check-words.ts";
import type { Weights } from "./evaluate-weights.ts";
import type { OpenPolicies, OpenPolicy } from "./policies.ts";

/** The weights of each role. */
export type RoleWeights = Readonly<Record<string, Weights>>;

export interface OpenTeam {
  /** The given team, with the policies below. */
  readonly team: Team;
  readonly policies: OpenPolicies;
}

/**
 * Loads each role's weights. Weights shared by roles are loaded once, and adapters share a base.
 * @throws TroupeError `bad_arguments` if a model does not know the environment's words
 */
export async function openTeam(
  engine: Engine,
  environment: Environment,
  team: Team,
  weights: RoleWeights,
): Promise<OpenTeam> {
  const policies: Record<string, OpenPolicy> = {};
  const names = new Map<string, string>();
  const roles: Team["roles"][number][] = [];
  for (const role of team.roles) {
    const own = weights[role.name];
    if (own === undefined)
      throw new TroupeError("internal", `there are no weights for the role ${role.name}`);
    const place = await realpath(own.place).catch(() => own.place);
    const name = names.get(place) ?? freeName(own.label, policies);
    policies[name] ??= await openPolicy(engine, environment, name, own);
    names.set(place, name);
    roles.push({ ...role, policy: name });
  }
  checkTools(roles, policies);
  return { team: { ...team, roles }, policies };
}

async function openPolicy(
  engine: Engine,
  environment: Environment,
  name: string,
  weights: Weights,
): Promise<OpenPolicy> {
  const { model, from, text, label, templateVariables } = weights;
  const tokenizer = loadTokenizer(text, templateVariables);
  checkWords(environment, tokenizer, { model: label, advice: adviceFor(weights) });
  const info = await engine.createPolicy({ name, model, ...(from === null ? {} : { from }) });
  return { tokenizer, maxLength: info.maxLength, info, model };
}

function adviceFor({ environment: own }: Weights): string {
  const origin = own === null ? "" : `It was trained on ${describe(own)}. `;
  return `${origin}Use weights trained on the same environment and options, or evaluate in their own recipe.`;
}

function describe(environment: NonNullable<Weights["environment"]>): string {
  const { name, module } = environment;
  const plain = Object.entries(optionsOf(environment)).filter(([, value]) => typeof value !== "object");
  return [name ?? module, ...plain.map(([key, value]) => `${key}=${String(value)}`)].join(" ");
}

function freeName(label: string, taken: Readonly<Record<string, unknown>>): string {
  let name = label;
  for (let number = 2; Object.hasOwn(taken, name); number++) name = `${label} (${number})`;
  return name;
}

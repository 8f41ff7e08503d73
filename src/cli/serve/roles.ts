/** `troupe serve RUN --openai`: the roles of a run as models, for clients of OpenAI and Anthropic. */
import type { Engine } from "../../engines/engine.ts";
import { TroupeError } from "../../errors.ts";
import { variableName, variablesFor } from "../../gateway/gateway.ts";
import { roleServerLimits, serveRoles, type RoleServer } from "../../gateway/server.ts";
import type { SampledRole } from "../../gateway/roles.ts";
import { checkSampled } from "../../rollout/act.ts";
import { agentOf } from "../../rollout/setting.ts";
import type { RoleWeights } from "../../train/weights.ts";
import { listenForStop } from "../exit.ts";
import { printLines } from "../print.ts";
import { withTrainedTeam, type TrainedTeam } from "../trained-team.ts";
import {
  acceptedKeys,
  keysText,
  plainTextNote,
  printEvent,
  printStopping,
  reachableUrl,
  serverLog,
  type CommonOptions,
} from "./common.ts";

export interface RoleOptions extends CommonOptions {
  readonly recipe?: string;
  readonly runs: string;
}

export async function serveRun(
  [given = "", ...others]: readonly string[],
  options: RoleOptions,
): Promise<void> {
  if (others.length > 0)
    throw new TroupeError("bad_arguments", `--openai serves one run; start another server for ${others[0]}`);
  const keys = acceptedKeys(options.keys);
  const { host, port, runs, recipe } = options;
  const overrides = (["threads", "precision"] as const).flatMap((name) =>
    options[name] === undefined ? [] : `engine.${name}=${options[name]}`,
  );
  const asked = Promise.withResolvers<void>();
  using _ = listenForStop(() => asked.resolve());
  await withTrainedTeam(given, { runs, recipe, overrides, isPlayed: false }, async (trained) => {
    const { engine, resolved, weights } = trained;
    const { temperature, topP } = resolved.recipe.evaluation;
    const server = await serveRoles({
      roles: rolesOf(trained),
      sampling: { temperature, topP },
      sample: async (request, signal) => {
        const sequences = await engine.sample(request, { signal });
        checkSampled(sequences, request);
        return sequences;
      },
      capabilities: engine.capabilities,
      host,
      port,
      keys,
      limits: roleServerLimits,
      log: serverLog(options),
    });
    try {
      printStart({ host, url: server.url, engine: engine.description, weights, keys }, options);
      await asked.promise;
      printStopping({ unfinished: server.unfinished() }, options);
      await finish(server, engine);
    } finally {
      await server.close();
    }
  });
}

/** A server of the engine that is silent would be asked for minutes. */
async function finish(server: RoleServer, engine: Engine): Promise<void> {
  using _ = engine.failFast?.();
  await server.drain();
}

/** As they are evaluated: with the system message that the environment or the recipe gives them. */
function rolesOf({ resolved: { environment }, team, policies }: TrainedTeam): readonly SampledRole[] {
  return team.roles.map(({ name }) => {
    const { role, tokenizer, maxLength, system } = agentOf({ environment, team, policies }, name);
    const { policy, maxTokens, stop } = role;
    return { name, policy, tokenizer, maxLength, maxTokens, stop, system };
  });
}

interface Started {
  readonly host: string;
  readonly url: string;
  readonly engine: string;
  readonly weights: RoleWeights;
  readonly keys: readonly string[];
}

function printStart({ host, url, engine, weights, keys }: Started, { json, quiet }: RoleOptions): void {
  const roles = Object.entries(weights);
  const names = roles.map(([name]) => name);
  if (json) {
    const shown = roles.map(([name, { label, step }]) => [name, { weights: label, step }] as const);
    const models = Object.fromEntries(shown);
    return printEvent("listening", { url: `${url}/v1`, host, models, engine, keys: keys.length });
  }
  const first = `${url}/v1 serves ${names.join(", ")} with the ${engine}.`;
  const made = roles.map(([name, { label, step }]) => {
    return `${name}: ${label}${step === null ? "" : ` after step ${step}`}`;
  });
  const howTo = howToAsk(reachableUrl(host, url), names, keys.length === 0);
  printLines(quiet ? [first] : [first, ...made, keysText(keys), ...howTo, ...plainTextNote(host)]);
}

/** Lines that work when they are pasted into a shell. */
function howToAsk(url: string, roles: readonly string[], isFree: boolean): readonly string[] {
  const question = { model: roles[0], messages: [{ role: "user", content: "Hello" }] };
  const key = isFree ? "none" : '"$OPENAI_API_KEY"';
  const named = roles.map((name) => [`${url}/r/${name}`, `_${variableName(name)}`] as const);
  return [
    "",
    isFree ? "From a shell:" : "From a shell, with a key in OPENAI_API_KEY:",
    "",
    `curl ${url}/v1/chat/completions -H 'content-type: application/json' \\`,
    ...(isFree ? [] : [`  -H "authorization: Bearer $OPENAI_API_KEY" \\`]),
    `  -d '${JSON.stringify(question)}'`,
    "",
    "For programs, which name a role as the model, or have one address for each:",
    "",
    ...[[url, ""] as const, ...named].map(([address, suffix]) => {
      const variables = Object.entries(variablesFor({ url: address, key }, suffix));
      return `export ${variables.map(([name, value]) => `${name}=${value}`).join(" ")}`;
    }),
    "",
  ];
}

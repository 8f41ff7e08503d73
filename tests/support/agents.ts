/** Programs of a user's own for tests, played as episodes by an engine that says what a script says. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command, type CommandState } from "../../src/environments/command/definition.ts";
import { commandOptions } from "../../src/environments/command/options.ts";
import { Gateway } from "../../src/gateway/gateway.ts";
import { rootKey } from "../../src/random.ts";
import type { Episode } from "../../src/rollout/episode.ts";
import { growEpisode } from "../../src/rollout/grow.ts";
import { nodeOf } from "../../src/rollout/navigate.ts";
import { rolloutDefaults, type RolloutSetting } from "../../src/rollout/setting.ts";
import { scriptedEngine, type Script } from "../../src/rollout/testing/scripted-engine.ts";
import { buildTeam } from "../../src/teams/build.ts";
import { atEndOfFile } from "../../src/test-end.ts";
import { fixtureTokenizer } from "../../src/text/testing/fixtures.ts";

/** With the programs and their tasks. */
export const folder = mkdtempSync(join(tmpdir(), "troupe-command-"));
export const tokenizer = fixtureTokenizer("qwen2");
export const tasks = join(folder, "tasks.jsonl");
writeFileSync(tasks, '{"goal": "a"}\n{"goal": "b"}\n');

const gateway = new Gateway();
atEndOfFile(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

/** What the programs have in common. */
const head = `
const task = JSON.parse(process.env.TROUPE_TASK);
const ask = async (role, content, more = {}) => {
  const response = await fetch(process.env["OPENAI_BASE_URL_" + role] + "/chat/completions", {
    method: "POST",
    headers: { authorization: "Bearer " + process.env["OPENAI_API_KEY_" + role] },
    body: JSON.stringify({ messages: [{ role: "user", content }], ...more }),
  });
  const body = await response.json();
  return response.ok ? body.choices[0].message.content : Promise.reject(new Error(body.error.message));
};
`;

export interface Changes {
  readonly options?: object;
  readonly script?: Script;
  readonly samples?: number;
  readonly setting?: Partial<RolloutSetting>;
}

let programs = 0;

/** @param program null: none is started */
export async function settingOf(
  program: string | null,
  { options, script, samples = 2, setting }: Changes = {},
): Promise<RolloutSetting> {
  const file = join(folder, `program-${programs++}.mjs`);
  writeFileSync(file, head + (program ?? ""));
  const environment = await command.create(
    commandOptions.parse({
      ...(program === null ? {} : { run: [process.execPath, file] }),
      directory: folder,
      seats: ["writer", "critic"],
      dataset: { files: { train: tasks, heldOut: tasks } },
      ...options,
    }),
  );
  const roles = { writer: { policy: "p" }, critic: { policy: "p", frozen: true } };
  return {
    ...rolloutDefaults,
    environment,
    team: buildTeam({ roles, phases: [], turns: 3 }, environment),
    engine: scriptedEngine(tokenizer, script ?? (({ seed }) => String(seed % 100))),
    policies: { p: { tokenizer, maxLength: 500 } },
    scheme: { branch: { root: samples, inner: 1 }, keep: "all" },
    score: ({ team }) => team,
    sampling: { temperature: 1 },
    services: { gateway },
    retries: { retries: 0, firstDelay: 0, longestDelay: 0 },
    ...setting,
  };
}

export const start = { task: { goal: "a" }, path: ["train", 1, 0] };

export async function play(program: string | null, changes: Changes = {}): Promise<Episode> {
  return growEpisode(await settingOf(program, changes), rootKey(1), start);
}

/** The score of each trajectory, and what was wrong with how its program ended. */
export function outcomesOf(episode: Episode): readonly (readonly [number, string | null])[] {
  return episode.ends.map(({ outcome, node }) => {
    return [outcome.score, (nodeOf(episode, node).state as CommandState).reason];
  });
}

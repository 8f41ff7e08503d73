/** Episodes on real servers of openenv-core, and on one that breaks the protocol. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServiceError } from "../src/errors.ts";
import { openenv, type OpenEnvState } from "../src/environments/openenv/definition.ts";
import { openEnvOptions } from "../src/environments/openenv/options.ts";
import { Gateway } from "../src/gateway/gateway.ts";
import { rootKey } from "../src/random.ts";
import type { Episode } from "../src/rollout/episode.ts";
import { growEpisode, growEpisodes } from "../src/rollout/grow.ts";
import { nodeOf } from "../src/rollout/navigate.ts";
import { rolloutDefaults, type RolloutSetting } from "../src/rollout/setting.ts";
import { scriptedEngine, type Script } from "../src/rollout/testing/scripted-engine.ts";
import { ServiceLog } from "../src/calls/services.ts";
import { buildTeam } from "../src/teams/build.ts";
import { fixtureTokenizer } from "../src/text/testing/fixtures.ts";
import { freePort, hasOpenEnv, startServer, type StartedServer } from "./openenv/starting.ts";

const gateway = new Gateway();
const tokenizer = fixtureTokenizer("qwen2");
const started: StartedServer[] = [];
/** Their addresses. */
let [say, nim, hostile] = ["", "", ""];

beforeAll(async () => {
  if (!hasOpenEnv) return;
  const servers = await Promise.all([
    server({ GAME: "say" }),
    server({ GAME: "nim" }),
    server({}, "hostile.py"),
  ]);
  [say, nim, hostile] = servers.map(({ url }) => url) as [string, string, string];
});
afterAll(async () => {
  for (const one of started) await one.kill();
  await gateway.close();
});

async function server(env: Readonly<Record<string, string>>, script?: "hostile.py"): Promise<StartedServer> {
  const one = await startServer(script ?? "server.py", env);
  started.push(one);
  return one;
}

interface Changes {
  readonly options?: object;
  readonly script: Script;
  readonly samples?: number;
  readonly turns?: number;
  readonly setting?: Partial<RolloutSetting>;
}

async function settingOf(
  url: string,
  { options, script, samples = 1, turns = 3, setting }: Changes,
): Promise<RolloutSetting> {
  const environment = await openenv.create(
    openEnvOptions.parse({ url, observation: "{prompt}", ...options }),
  );
  const roles = Object.fromEntries(Object.keys(environment.seats).map((seat) => [seat, { policy: "p" }]));
  return {
    ...rolloutDefaults,
    environment,
    team: buildTeam({ roles, phases: [], turns }, environment),
    engine: scriptedEngine(tokenizer, script),
    policies: { p: { tokenizer, maxLength: 500 } },
    scheme: { branch: { root: samples, inner: 1 }, keep: "all" },
    score: ({ team }) => team,
    sampling: { temperature: 1 },
    services: { gateway, log: new ServiceLog() },
    retries: { retries: 0, firstDelay: 0, longestDelay: 0 },
    ...setting,
  };
}

const start = { task: { seed: 0 }, path: ["train", 1, 0] };
const play = async (url: string, changes: Changes): Promise<Episode> =>
  growEpisode(await settingOf(url, changes), rootKey(1), start);

const rewardsOf = ({ nodes }: Episode) => nodes.flatMap(({ actions }) => actions.map(({ reward }) => reward));
const endsOf = (episode: Episode) =>
  episode.ends.map(({ outcome, node }) => {
    return [outcome.score, (nodeOf(episode, node).state as OpenEnvState).reason];
  });
/** The word that the prompt asks for. */
const obeying: Script = (_, __, prompt) =>
  /say (\w+)/.exec(prompt.slice(prompt.lastIndexOf("say ")))?.[1] ?? "";

const error = async (options: object, script: Script = () => "hot"): Promise<unknown> =>
  play(say, { script, options }).catch((cause: unknown) => cause);

describe.skipIf(!hasOpenEnv)("an episode on a server", () => {
  it("is played from its reset to its end, one session for each trajectory", async () => {
    const episode = await play(say, { script: obeying, samples: 3 });
    expect(endsOf(episode)).toEqual([
      [1, null],
      [1, null],
      [1, null],
    ]);
    expect(rewardsOf(episode)[0]).toEqual({ team: 1, local: 0, parts: {} });
    expect([...(episode.actions[0]?.prompt ?? [])]).toEqual([
      ...tokenizer.renderPrompt([{ role: "user", content: "say hot" }], true),
    ]);
    expect(endsOf(await play(say, { script: () => "cold" }))).toEqual([[0, null]]);
  });

  it("is remembered as a conversation, whose rewards add up to its score", async () => {
    let asked = 0;
    const script: Script = () => (++asked === 2 ? "cold" : "hot");
    const options = { reset: { steps: 3 }, bounds: [-1, 3] };
    const episode = await play(say, { script, options });
    // Sums of quarters are exact.
    expect(endsOf(episode)).toEqual([[0.75, null]]);
    expect(rewardsOf(episode).map((reward) => reward?.team)).toEqual([0.25, 0, 0.5]);
    const lengths = episode.actions.map(({ prompt }) => prompt.length);
    expect(lengths).toEqual(lengths.toSorted((one, other) => one - other));
    expect(new Set(lengths).size).toBe(3);
    expect(episode.actions.map(({ branch }) => branch)).toEqual([undefined, undefined, undefined]);
    const turn = await play(say, { script: () => "hot", options: { ...options, memory: "turn" } });
    expect(new Set(turn.actions.map(({ prompt }) => prompt.length)).size).toBe(1);
    const last = await play(say, {
      script: () => "hot",
      options: { ...options, score: "last", bounds: [0, 2] },
    });
    expect(endsOf(last)).toEqual([[0.5, null]]);
    expect(rewardsOf(last).map((reward) => reward?.team)).toEqual([0.5, 0, 0]);
  });

  it("ends when the turns are used up, with what it earned", async () => {
    const options = { reset: { steps: 5 }, bounds: [0, 4] };
    expect(endsOf(await play(say, { script: obeying, options, turns: 2 }))).toEqual([[0.5, null]]);
  });

  it.each(["nothing", "nan"])("trains nothing if it ends without a reward: %s", async (message) => {
    const episode = await play(say, { script: () => message });
    expect(episode.ends).toEqual([]);
    expect(episode.actions).toMatchObject([{ frozen: true, masked: "nothing rewards the episode" }]);
  });

  it("ends the run if a score is beyond the bounds, or an option does not fit the server", async () => {
    expect(await error({}, () => "much")).toMatchObject({
      code: "bad_recipe",
      message: expect.stringContaining(
        "environment.bounds: an episode of the team earned 7, which is not from 0 to 1",
      ),
    });
    expect(await error({ action: "text" })).toMatchObject({
      code: "bad_recipe",
      message:
        "environment.action: an action has no field `text`; the server's actions have metadata, message",
    });
    expect(await error({ fields: { size: 1 } })).toMatchObject({
      message: expect.stringContaining("environment.fields: an action has no field `size`"),
    });
    expect(await error({ observation: "{board}" })).toMatchObject({
      message: expect.stringContaining(
        "environment.observation: the server's answer has no `board`; it has prompt",
      ),
    });
    expect(await error({ player: { field: "prompt" } })).toMatchObject({
      message: expect.stringContaining(
        'environment.player: `prompt` is "say hot", which is none of the seats agent',
      ),
    });
  });

  it("waits while others have all sessions", async () => {
    const other = new WebSocket(`${say.replace("http", "ws")}/ws`);
    await new Promise((resolve) => other.addEventListener("open", resolve));
    other.send('{"type": "reset"}');
    await new Promise((resolve) => other.addEventListener("message", resolve));
    const setting = await settingOf(say, { script: obeying });
    const playing = growEpisode(setting, rootKey(1), start);
    const { log } = setting.services;
    while (log?.named("openenv").use.retries === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    other.close();
    expect(endsOf(await playing)).toEqual([[1, null]]);
  });

  it("may have several sessions at the same time, but no more than the option says", async () => {
    const { url } = await server({ GAME: "say", SESSIONS: "4" });
    const setting = await settingOf(url, { script: obeying, samples: 9, options: { sessions: 4 } });
    expect(endsOf(await growEpisode(setting, rootKey(1), start))).toHaveLength(9);
    expect(setting.services.log?.named("openenv").use).toMatchObject({ retries: 0, failures: 0 });
  });
});

/** Takes so many stones, by the number of those that are left. */
const taking =
  (stones: Readonly<Record<string, string>>): Script =>
  (_, __, prompt) =>
    stones[/(\d) left\D*$/.exec(prompt)?.[1] ?? ""] ?? "1";

describe.skipIf(!hasOpenEnv)("a game for two", () => {
  const options = {
    seats: ["first", "second"],
    observation: "{stones} left",
    memory: "turn",
    rewards: "zero-sum",
    bounds: [-1, 1],
  };

  it.each([
    ["by turns", {}],
    ["as the observation says", { player: { field: "player" } }],
    ["as the server's state says", { player: { field: "state.mover" } }],
    ["as it says in other words", { player: { field: "state.mover", values: ["first", "second"] } }],
  ])("rewards who wins and charges who loses, %s", async (_, player) => {
    const episode = await play(nim, { script: () => "1", options: { ...options, ...player }, turns: 4 });
    expect(episode.actions.map(({ role }) => role)).toEqual(["first", "second", "first", "second"]);
    expect(rewardsOf(episode).map((reward) => reward?.local)).toEqual([0, 0, 0, 1]);
    expect(endsOf(episode)).toEqual([[0, null]]);
    const other = await play(nim, { script: taking({ 4: "1", 3: "1", 2: "2" }), options, turns: 4 });
    expect(rewardsOf(other).map((reward) => reward?.local)).toEqual([0, 0, 1]);
    expect(endsOf(other)).toEqual([[1, null]]);
  });

  it.each([
    ["lots", "lots is no integer for `stones` of an action"],
    ["5", expect.stringContaining("the server rejects the action: 5 stones cannot be taken from 4")],
  ])("is lost by %s, with a reason", async (text, reason) => {
    const script = taking({ 4: text });
    const episode = await play(nim, { script, options: { ...options, errors: "action" } });
    expect(endsOf(episode)).toEqual([[0, reason]]);
    expect(rewardsOf(episode)).toEqual([{ team: 0, local: 0, parts: { own: 0 }, reason }]);
    const second = await play(nim, {
      script: taking({ 3: text }),
      options: { ...options, errors: "action" },
    });
    expect(rewardsOf(second).map((reward) => reward?.local)).toEqual([1, 0]);
    expect(second.ends[0]?.outcome.score).toBe(1);
  });

  it.each([
    [{ seats: ["a"] }, "environment.rewards: `zero-sum` is for two seats, but the seats are a"],
    [{ player: { field: "player", values: [1] } }, "environment.player.values: expected one for each seat"],
    [
      { player: { field: "player", values: [1, 1] } },
      "environment.player.values: expected one for each seat",
    ],
  ])("needs options for its seats: %j", async (wrong, message) => {
    await expect(settingOf(nim, { script: () => "1", options: { ...options, ...wrong } })).rejects.toThrow(
      message,
    );
  });

  it("does not take an exception for a bad move unless the recipe says so", async () => {
    await expect(play(nim, { script: () => "5", options })).rejects.toMatchObject({
      code: "service",
      message: expect.stringContaining("if illegal moves raise it, set `environment.errors: action`"),
    });
  });
});

describe.skipIf(!hasOpenEnv)("a failure of the server is no reward", () => {
  it.each([
    "prose",
    "list",
    "other",
    "no-done",
    "text-reward",
    "infinite",
    "deep",
    "bytes",
    "long",
    "twice",
    "leave",
    "silent",
  ])("%s", async (trouble) => {
    const options = trouble === "silent" ? { timeoutSeconds: 0.2 } : {};
    const setting = await settingOf(`${hostile}/${trouble}`, { script: () => "hot", options });
    const { episodes, failed } = await growEpisodes(setting, rootKey(1), [start]);
    expect(episodes).toEqual([]);
    expect(failed).toMatchObject([{ cause: { code: "service" } }]);
    expect(setting.services.log?.named("openenv").use.failures).toBe(1);
  });

  it.each<[string, RegExp]>([
    ["raise", /failed: somebody said raise \(EXECUTION_ERROR\)/],
    ["sleep", /openenv took longer than 0.5 seconds/],
  ])("a step that ends in %s", async (message, expected) => {
    const options = { timeoutSeconds: 0.5 };
    const played = play(say, { script: () => message, options });
    await expect(played).rejects.toThrow(expected);
    await expect(played).rejects.toBeInstanceOf(ServiceError);
  });

  it("and is played again from its beginning, in the same way", async () => {
    const first = await server({ GAME: "say" });
    const setting = await settingOf(first.url, {
      script: obeying,
      options: { reset: { steps: 3 }, bounds: [0, 3] },
    });
    const whole = await growEpisode(setting, rootKey(1), start);
    let asked = 0;
    const engine = scriptedEngine(tokenizer, (...given) => {
      if (++asked === 2) first.child.kill("SIGKILL");
      return obeying(...given);
    });
    const sleep = async (): Promise<void> => {
      await first.kill();
      started.push(await startServer("server.py", { GAME: "say" }, Number(new URL(first.url).port)));
    };
    const retries = { retries: 1, firstDelay: 0, longestDelay: 0, sleep };
    expect(await growEpisode({ ...setting, engine, retries }, rootKey(1), start)).toEqual(whole);
    expect(asked).toBe(5);
  });

  it("nobody at the address", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    await expect(play(url, { script: obeying })).rejects.toMatchObject({
      code: "service",
      message: expect.stringContaining("cannot be reached"),
    });
  });

  it.each(["told", "wrote"])("does not show the token that it %s", async (trouble) => {
    process.env["TROUPE_TEST_TOKEN"] = "sesame-open-now";
    const played = play(`${hostile}/${trouble}`, {
      script: () => "hot",
      options: { token: "TROUPE_TEST_TOKEN" },
    });
    const problem = String(await played.catch((cause: unknown) => cause));
    delete process.env["TROUPE_TEST_TOKEN"];
    expect(problem).toContain("Bearer [TROUPE_TEST_TOKEN]");
  });
});

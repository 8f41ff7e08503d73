/** Roles with tools: real search in real tokens; and the included team of a decomposer and a searcher. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { unrecordedCalls } from "../src/calls/recorded.ts";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import { credit } from "../src/credit/credit.ts";
import type { Environment, Reply } from "../src/environments/environment.ts";
import { sourceOf } from "../src/environments/tasks.ts";
import { rootKey } from "../src/random.ts";
import { resolveWithoutModels } from "../src/recipes/resolve.ts";
import { findRecipe } from "../src/recipes/shipped.ts";
import { decodeEpisode, encodeEpisode } from "../src/rollout/codec.ts";
import type { Episode } from "../src/rollout/episode.ts";
import { growEpisode } from "../src/rollout/grow.ts";
import { edgesOf, nodeOf } from "../src/rollout/navigate.ts";
import { oneTrajectory, rolloutDefaults, type RolloutSetting } from "../src/rollout/setting.ts";
import { type Script, scriptedEngine } from "../src/rollout/testing/scripted-engine.ts";
import { buildTeam } from "../src/teams/build.ts";
import type { Role, Team } from "../src/teams/team.ts";
import { fixtureTokenizer } from "../src/text/testing/fixtures.ts";
import { toolService } from "../src/tools/open.ts";
import { toolSettings } from "../src/tools/settings.ts";
import { type Difference, replayEpisode } from "../src/train/replay.ts";

const folder = mkdtempSync(join(tmpdir(), "troupe-tools-"));
const index = join(folder, "documents.jsonl");
writeFileSync(
  index,
  ["France: The capital is Paris.", "Italy: The capital is Rome.", "Peru: The capital is Lima."]
    .map((text) => JSON.stringify({ title: text.split(":")[0], text }))
    .join("\n"),
);
afterAll(async () => {
  await services.tools.close();
  rmSync(folder, { recursive: true });
});

const services = {
  tools: toolService({ sandbox: undefined as never, recorded: unrecordedCalls() }),
};
const search = toolSettings.parse({ name: "search", index, top: 1 });

/** Each seat answers "Rome" for 1; a wrong answer earns 0. `seen` collects what reached the environment. */
function quiz(seats: readonly string[], seen: Readonly<Record<string, Reply>>[] = []): Environment {
  return {
    name: "quiz",
    seats: Object.fromEntries(
      seats.map((seat) => [seat, { purpose: "answers", prompt: "Answer.", maxTokens: 100 }]),
    ),
    tasks: { train: { size: null, draw: () => ({}) }, heldOut: { size: null, draw: () => ({}) } },
    start: () => ({ answers: [] }),
    observe: (_, seat) => `${seat}: the capital of Italy?`,
    step: (_, replies) => {
      seen.push(replies);
      const answers = Object.values(replies).map(({ text }) => text);
      const rewards = Object.entries(replies).map(([seat, { text }]) => {
        const isRight = text === "Rome" ? 1 : 0;
        return [seat, { team: isRight, local: 0, parts: {} }] as const;
      });
      return { state: { answers }, rewards: Object.fromEntries(rewards), done: true };
    },
    outcome: (state) => {
      const { answers } = state as { answers: readonly string[] };
      const right = answers.length > 0 && answers.every((text) => text === "Rome");
      return { success: right, score: right ? 1 : 0 };
    },
    render: (state) => JSON.stringify(state),
  };
}

function role(name: string, changes: Partial<Role> = {}): Role {
  const tools = { settings: [search], calls: 2 };
  const defaults = { frozen: false, memory: "turn", maxTokens: 300, stop: [], tools } as const;
  return { name, seat: name, policy: "model", ...defaults, ...changes };
}

function settingOf(
  script: Script,
  { style = "qwen3", roles = [role("solver")], ...rest }: Partial<RolloutSetting> & Options = {},
): RolloutSetting {
  const tokenizer = fixtureTokenizer(style);
  const team: Team = { roles, phases: [roles.map(({ name }) => name)], turns: 1 };
  return {
    ...rolloutDefaults,
    environment: quiz(roles.map(({ seat }) => seat)),
    team,
    engine: scriptedEngine(tokenizer, script),
    policies: { model: { tokenizer, maxLength: 4096 } },
    scheme: oneTrajectory,
    score: ({ team: gained }) => gained,
    sampling: { temperature: 1 },
    services,
    ...rest,
  };
}

interface Options {
  readonly style?: string;
  readonly roles?: readonly Role[];
}

const grow = (setting: RolloutSetting): Promise<Episode> =>
  growEpisode(setting, rootKey(1), { task: {}, path: ["train", 0, 0] });

const hermes = (query: string): string =>
  `<tool_call>\n{"name": "search", "arguments": {"query": "${query}"}}\n</tool_call>`;
const calls: Readonly<Record<string, string>> = {
  qwen3: `<think>\nI look.\n</think>\n\n${hermes("Italy")}`,
  llama31: `{"name": "search", "parameters": {"query": "Italy"}}`,
  mistral: `[TOOL_CALLS] [{"name": "search", "arguments": {"query": "Italy"}, "id": "abcdefghi"}]`,
};

describe.each(Object.entries(calls))("a model in the style of %s", (style, call) => {
  const script: Script = (_, __, prompt) => (prompt.includes("Rome") ? "Rome" : call);

  it("calls a tool, reads the answer in its conversation, and replies", async () => {
    const seen: Readonly<Record<string, Reply>>[] = [];
    const episode = await grow(settingOf(script, { style, environment: quiz(["solver"], seen) }));
    expect(episode.actions.map(({ reply }) => reply.text)).toEqual(["", "Rome"]);
    expect(seen.map(({ solver }) => solver?.text)).toEqual(["Rome"]);
    expect(episode.ends[0]?.outcome.score).toBe(1);
    const [first, second] = episode.actions;
    const continued = [...(first?.prompt ?? []), ...(first?.tokens ?? [])];
    expect([...(second?.prompt ?? [])].slice(0, continued.length)).toEqual(continued);
    const { observations, pending, turn, phase } = nodeOf(episode, "0");
    expect(observations["solver"]).toMatchObject([{ role: "tool", name: "search" }]);
    expect(pending?.answered["solver"]?.calls).toBe(1);
    expect({ turn, phase }).toEqual({ turn: 0, phase: 0 });
  });
});

/** What the tools answered along the only trajectory. */
function told(episode: Episode): string[] {
  return episode.nodes.flatMap(({ pending }) =>
    Object.values(pending?.answered ?? {}).flatMap(({ messages }) => messages.map(({ content }) => content)),
  );
}

/** Differences between the stored episode and one replayed from its tokens. */
async function replayed(episode: Episode, roles: readonly Role[]): Promise<Difference[]> {
  const { json, prompts } = encodeEpisode(episode);
  const stored = decodeEpisode(JSON.parse(JSON.stringify(json)), (hash) => prompts.get(hash), "here");
  const { environment, team, policies } = settingOf(() => "", { roles });
  const tokenizers = Object.fromEntries(
    Object.entries(policies).map(([name, { tokenizer }]) => [name, tokenizer]),
  );
  return replayEpisode({ environment, team, root: rootKey(1), tokenizers, services }, stored);
}

/** Writes the texts one after the other. */
function inOrder(texts: readonly string[]): Script {
  let next = 0;
  return () => texts[next++] ?? "nothing";
}

describe("a role with tools", () => {
  it("learns that its last call has been made; calls after that are ignored", async () => {
    const seen: Readonly<Record<string, Reply>>[] = [];
    const script = inOrder([hermes("Italy"), hermes("Peru") + hermes("France"), hermes("Rome")]);
    const episode = await grow(settingOf(script, { environment: quiz(["solver"], seen) }));
    expect(told(episode)).toEqual([
      "[1] Italy\nItaly: The capital is Rome.",
      "[1] Peru\nPeru: The capital is Lima.",
      "This call was not made: no calls are left.\n\nNo calls are left: reply now.",
    ]);
    expect(seen).toMatchObject([{ solver: { text: "", calls: [{ name: "search" }] } }]);
    expect(episode.ends[0]?.outcome.score).toBe(0);
  });

  it.each([
    ["malformed", '<tool_call>{"name": "search"', /^The call failed: the call does not end/],
    [
      "of an unknown tool",
      hermes("x").replace("search", "google"),
      /there is no tool google; the tools are search\.$/,
    ],
    [
      "with invalid arguments",
      hermes("x").replace("query", "q"),
      /the arguments of search are not valid: .*query/,
    ],
  ])("a call %s earns nothing, and its answer explains why", async (_, call, problem) => {
    const episode = await grow(settingOf(inOrder([call, "Rome"])));
    const [first, second] = episode.nodes.slice(1).map((node) => edgesOf(episode, node)[0]?.reward);
    expect(told(episode)).toMatchObject([expect.stringMatching(problem)]);
    expect(first).toMatchObject({ team: 0, local: 0 });
    expect(`The call failed: ${first?.reason}.`).toMatch(problem);
    expect(second?.team).toBe(1);
  });

  it("calls nothing in its thinking, or if it was cut off", async () => {
    const thought = `<think>\n${hermes("Italy")}\n</think>\n\nRome`;
    expect((await grow(settingOf(() => thought))).actions).toHaveLength(1);
    const short = await grow(
      settingOf(() => hermes("Italy"), { roles: [role("solver", { maxTokens: 12 })] }),
    );
    expect(short.actions).toHaveLength(1);
    expect(short.actions[0]?.reply.truncated).toBe(true);
  });

  it("may fill its sequence with answers: then its reply is empty", async () => {
    const setting = settingOf(() => hermes("Italy"));
    const free = await grow(setting);
    const { prompt, tokens } = free.actions[0] as Episode["actions"][number];
    const model = { ...setting.policies["model"], maxLength: prompt.length + tokens.length + 3 };
    const episode = await grow({ ...setting, policies: { model } as RolloutSetting["policies"] });
    expect(episode.actions[1]).toMatchObject({ reply: { text: "", truncated: true }, stopReason: "length" });
    expect(episode.actions[1]?.tokens).toHaveLength(0);
    expect(episode.ends).toHaveLength(1);
  });

  it("begins its next turn as if it had not called, unless it has a memory", async () => {
    const script = inOrder([hermes("Italy"), "no", "Rome"]);
    const endless = { ...quiz(["solver"]) };
    const environment: Environment = {
      ...endless,
      step: async (...given) => ({ ...(await endless.step(...given)), done: false }),
    };
    const setting = settingOf(script, { environment });
    const { actions } = await grow({ ...setting, team: { ...setting.team, turns: 2 } });
    expect(actions.map(({ turn }) => turn)).toEqual([0, 0, 1]);
    expect(actions[2]?.prompt).toEqual(actions[0]?.prompt);
  });
});

const quickAndCareful: Script = (_, __, prompt) => {
  if (prompt.includes("quick:")) return "Rome";
  return prompt.includes("capital is Rome") ? "Milan" : hermes("Italy");
};

describe("seats that act simultaneously", () => {
  const roles = [role("quick"), role("careful")];

  it("wait for each other, and each reply has its reward", async () => {
    const seen: Readonly<Record<string, Reply>>[] = [];
    const episode = await grow(
      settingOf(quickAndCareful, { roles, environment: quiz(["quick", "careful"], seen) }),
    );
    expect(seen).toMatchObject([{ quick: { text: "Rome" }, careful: { text: "Milan" } }]);
    expect(await replayed(episode, roles)).toEqual([]);
    const edges = episode.nodes.slice(1).map((node) => edgesOf(episode, node));
    expect(episode.nodes[1]?.actions[1]?.evidence?.output).toContain("The capital is Rome.");
    expect(edges.map((each) => each.map(({ action, reward }) => [action.role, reward?.team]))).toEqual([
      [
        ["quick", 1],
        ["careful", undefined],
      ],
      [["careful", 0]],
    ]);
  });
});

describe("credit", () => {
  /** Samples 0 and 1 call first, and reply "Rome" and "Milan"; sample 2 replies "Rome" at once; 3 calls badly. */
  const firsts = [hermes("right Italy"), hermes("wrong Italy"), "Rome", "<tool_call>{"];
  const script: Script = ({ count }, sample, prompt) => {
    if (count > 1) return firsts[sample] ?? "";
    return prompt.includes("right Italy") ? "Rome" : "Milan";
  };

  async function credited(name: string, options: object) {
    const algorithm = algorithmFrom(name, { samples: 4, ...options });
    const episode = await grow(settingOf(script, { scheme: algorithm.sampling, score: algorithm.score }));
    const all = credit([episode], algorithm);
    return { episode, byNode: new Map(all.map((one) => [one.node.id, one])) };
  }

  it("of a call is that of its reply, which counts once in its group (AT-GRPO)", async () => {
    const { episode, byNode } = await credited("at-grpo", { alpha: 1, standardise: false });
    expect(new Set([...byNode.values()].map(({ group }) => group)).size).toBe(1);
    expect(new Map([...byNode].map(([node, one]) => [node, one.return]))).toEqual(
      new Map(Object.entries({ "0": 1, "0.0": 1, "1": 0, "1.0": 0, "2": 1, "3": 0, "3.0": 0 })),
    );
    // Five samples: 0 → 1, 1 → 0, 2 → 1, the bad call 0 and its reply 0; their mean is .4. Sums of doubles.
    expect(byNode.get("0")?.advantage).toBeCloseTo(0.6, 12);
    expect(byNode.get("0.0")?.advantage).toBeCloseTo(0.6, 12);
    expect(byNode.get("3")?.advantage).toBeCloseTo(-0.4, 12);
    const kept = episode.nodes.filter((node) => node.kept).map(({ id }) => id);
    expect(kept).toEqual(["", "0", "0.0"]);
  });

  it("of a trajectory goes to its calls, too (GRPO)", async () => {
    const { byNode } = await credited("grpo", { standardise: false });
    expect(new Map([...byNode].map(([node, one]) => [node, one.advantage]))).toEqual(
      new Map(
        Object.entries({ "0": 0.5, "0.0": 0.5, "1": -0.5, "1.0": -0.5, "2": 0.5, "3": -0.5, "3.0": -0.5 }),
      ),
    );
  });

  it("of a joint action is that of its replies (MAGRPO)", async () => {
    const { byNode } = await credited("magrpo", {});
    expect(new Map([...byNode].map(([node, one]) => [node, one.return]))).toEqual(
      new Map(Object.entries({ "0": 1, "0.0": 1, "1": 0, "1.0": 0, "2": 1, "3": 0, "3.0": 0 })),
    );
  });
});

/** Follows the chain of documents: company → founder → town → country. */
const follow: Script = (_, __, prompt) => {
  const [, company = ""] = /founder of (\w+)/.exec(prompt) ?? [];
  if (!prompt.includes("suggests")) return `1. Who founded ${company}?\n2. Where was that person born?`;
  const [, founder] =
    new RegExp(`${company} makes \\w+\\. It was founded by (\\w+ \\w+)\\.`).exec(prompt) ?? [];
  if (founder === undefined) return hermes(company);
  const [, town] = new RegExp(`${founder}, born in (\\w+)`).exec(prompt) ?? [];
  return town === undefined ? hermes(founder) : `I found it.\nAnswer: ${town}`;
};

it("the included team finds an answer in two searches", async () => {
  const { environment, recipe } = await resolveWithoutModels(findRecipe("questions/decomposer-searcher"));
  const source = sourceOf(environment, "heldOut");
  const tasks = await Promise.all(
    Array.from({ length: source.size ?? 0 }, async (_, place) =>
      source.size === null ? null : source.at(place),
    ),
  );
  const task = tasks.find((one) => JSON.stringify(one).includes("In which town was the founder")) ?? null;
  const tokenizer = fixtureTokenizer("qwen3");
  const setting = {
    ...rolloutDefaults,
    environment,
    team: buildTeam(recipe.team, environment),
    engine: scriptedEngine(tokenizer, follow),
    policies: { model: { tokenizer, maxLength: 8192 } },
    scheme: oneTrajectory,
    score: () => 0,
    sampling: { temperature: 1 },
    services,
  };
  const episode = await growEpisode(setting, rootKey(1), { task, path: ["train", 0, 0] });
  expect(episode.actions.map((action) => action.role)).toEqual([
    "decomposer",
    "searcher",
    "searcher",
    "searcher",
  ]);
  expect(episode.ends[0]?.outcome).toEqual({ success: true, score: 1 });
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { advance, plainContext, type Position } from "../environments/progression.ts";
import { createEnvironment } from "../environments/registry.ts";
import type { Environment } from "../environments/environment.ts";
import { drawTask, iceOptions } from "../environments/thin-ice/generator.ts";
import { notationWords } from "../environments/thin-ice/notation.ts";
import { ServiceError } from "../errors.ts";
import { drawFloat, generatorOf, keyAt, rootKey } from "../random.ts";
import { growEpisode } from "../rollout/grow.ts";
import type { RolloutPolicy, RolloutSetting } from "../rollout/setting.ts";
import { numbers, numbersPolicy, pair, roleFor, settingFor } from "../rollout/testing/numbers.ts";
import { scriptedEngine, type Script } from "../rollout/testing/scripted-engine.ts";
import { mean, standardError, sum } from "../statistics.ts";
import { rolesToAct, scheduleOf } from "../teams/acting.ts";
import type { Team } from "../teams/team.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import { agreementOf, differencesOf, type Graded } from "./agreement.ts";
import { decisionsIn, sampleDecisions } from "./decisions.ts";
import { valuesOf } from "./values.ts";

/** What every role says in every state, with probabilities. */
type Policy = Readonly<Record<string, number>>;

/** Draws from the policy with the request's seed, like a real engine. */
function scriptOf(policy: Policy): Script {
  return ({ seed }, index) => {
    let rest = drawFloat(generatorOf(keyAt(rootKey(seed), index)));
    for (const [text, probability] of Object.entries(policy)) if ((rest -= probability) < 0) return text;
    return Object.keys(policy).at(-1) ?? "";
  };
}

interface Played {
  readonly environment: Environment;
  readonly team: Team;
  readonly policy: Policy;
}

/** The expected score by enumeration of everything that the roles can say, without the sampler. */
async function exactValue(
  { environment, team, policy }: Played,
  position: Position,
  given: Readonly<Record<string, string>> = {},
): Promise<number> {
  if (position.done) return environment.outcome(position.state).score;
  const roles = rolesToAct(environment, team, position);
  const joint = roles.reduce<
    readonly { readonly replies: Readonly<Record<string, string>>; readonly probability: number }[]
  >(
    (before, role) =>
      before.flatMap(({ replies, probability }) =>
        Object.entries(given[role] === undefined ? policy : { [given[role]]: 1 }).map(([text, own]) => ({
          replies: { ...replies, [role]: text },
          probability: probability * own,
        })),
      ),
    [{ replies: {}, probability: 1 }],
  );
  let total = 0;
  for (const { replies, probability } of joint) {
    // Roles have the names of their seats.
    const replied = Object.entries(replies).map(([seat, text]) => [seat, { text, truncated: false }]);
    const said = Object.fromEntries(replied) as Record<string, { text: string; truncated: boolean }>;
    const next = await advance(environment, scheduleOf(team), position, said, plainContext(rootKey(0)));
    total += probability * (await exactValue({ environment, team, policy }, next.position));
  }
  return total;
}

/** Two walkers on lakes of 3 × 3, for two turns: 4 · 4 joint actions in each. */
const options = { size: 3, thin: 1, distance: { least: 1, most: 3 } };
const ice = await createEnvironment("thin-ice", options);
const icePlayed: Played = {
  environment: ice,
  team: {
    roles: ["red", "blue"].map((seat) => ({ ...roleFor("first", { maxTokens: 12 }), name: seat, seat })),
    phases: [["red", "blue"]],
    turns: 2,
  },
  policy: {
    "walk b1 say a1": 0.3,
    "walk a2 say b2": 0.3,
    "walk b2 c2 say c3": 0.2,
    "walk b3 c3 say none": 0.2,
  },
};
const lake = (index: number) => drawTask(iceOptions.parse(options), "train", keyAt(rootKey(2), index));

function icePolicy(): RolloutPolicy {
  const directory = mkdtempSync(join(tmpdir(), "troupe-audit-"));
  writeWordTokenizer(directory, notationWords(options.size));
  const tokenizer = loadTokenizer(directory);
  rmSync(directory, { recursive: true });
  return { tokenizer, maxLength: 400 };
}

function settingOf({ environment, team, policy }: Played, words: RolloutPolicy): RolloutSetting {
  const engine = scriptedEngine(words.tokenizer, scriptOf(policy));
  return { ...settingFor(words, { engine }), environment, team };
}

const tree = { branch: { root: 4, inner: 2 }, keep: "all" } as const;
const spine = { branch: { root: 4, inner: 4 }, keep: "best" } as const;

const games = {
  numbers: {
    played: { environment: numbers, team: pair, policy: { "1": 0.5, "6": 0.3, "9": 0.2 } },
    words: numbersPolicy(),
    task: () => ({}),
  },
  "thin ice": { played: icePlayed, words: icePolicy(), task: lake },
};

describe.each(Object.entries(games))("true values of %s", (_name, { played, words, task }) => {
  const setting = settingOf(played, words);

  it("are those of enumeration", async () => {
    const episodes = await Promise.all(
      Array.from({ length: 6 }, (_, index) => {
        const scheme = index % 2 === 0 ? tree : spine;
        const start = { task: task(index), path: ["train", 1, index] };
        return growEpisode({ ...setting, scheme }, rootKey(1), start);
      }),
    );
    const { decisions } = decisionsIn(episodes);
    const chosen = sampleDecisions(decisions, 16, rootKey(4));
    const continuations = 48;
    const { decisions: valued, failed } = await valuesOf(setting, chosen, continuations, rootKey(9));
    expect(valued).toHaveLength(16);
    expect(failed).toEqual([]);
    const [ofValues, ofDifferences, missed]: [number[], number[], number[]] = [[], [], []];
    const graded: Graded[] = [];
    for (const { episode, node, role, candidates, scores } of valued) {
      const exact = await Promise.all(
        candidates.map(({ reply }) => exactValue(played, node as Position, { [role]: reply.text })),
      );
      const centre = mean(exact);
      graded.push({ cluster: episode.id, credits: exact.map((one) => one - centre), scores });
      for (const [index, { value, error }] of differencesOf(scores).entries()) {
        const own = scores[index] ?? [];
        const spread = standardError(own) ?? 0;
        const [truth = 0] = exact.slice(index, index + 1);
        // Where chance is rare, all continuations may agree: then there is no error to measure by.
        if (spread > 1e-9) ofValues.push((mean(own) - truth) / spread);
        else missed.push(Math.abs(mean(own) - truth));
        if (error > 1e-12) ofDifferences.push((value - (truth - centre)) / Math.sqrt(error));
      }
    }
    // Exact values as the credit are perfect, and reversed as wrong as possible.
    const reversed = graded.map((one) => ({ ...one, credits: one.credits.map((credit) => -credit) }));
    const [right, wrong] = [graded, reversed].map((each) => agreementOf(each, "own"));
    expect(right?.corrected.value).toBeCloseTo(1, 1);
    expect(right?.sign.value).toBe(1);
    expect(right?.slope.value).toBeCloseTo(1, 0);
    expect(wrong?.corrected.value).toBeCloseTo(-1, 1);
    expect(wrong?.sign.value).toBe(0);
    // An event of probability 0.15 is missed 48 times with probability 0.0004.
    expect(Math.max(0, ...missed)).toBeLessThan(0.15);
    for (const z of [ofValues, ofDifferences]) {
      expect(z.length).toBeGreaterThan(15);
      // Mean of squares 1, within what dependent candidates leave; no z beyond what a heavy tail of 100 has.
      expect(mean(z.map((one) => one ** 2))).toBeGreaterThan(0.5);
      expect(mean(z.map((one) => one ** 2))).toBeLessThan(1.7);
      expect(Math.max(...z.map(Math.abs))).toBeLessThan(4.5);
      expect(Math.abs(mean(z))).toBeLessThan(0.5);
    }
  }, 60_000);
});

describe("continuations", () => {
  const { played, words } = games.numbers;
  const setting = { ...settingOf(played, words), scheme: spine };
  const start = { task: {}, path: ["train", 1, 0] };

  it("that a service fails are no scores, and their siblings are compared with nothing", async () => {
    const { decisions } = decisionsIn([await growEpisode(setting, rootKey(1), start)]);
    const [decision] = decisions;
    let calls = 0;
    const engine = {
      sample: (...given: Parameters<typeof setting.engine.sample>) => {
        if (++calls === 5) throw new ServiceError("the engine hangs");
        return setting.engine.sample(...given);
      },
    };
    const chosen = decision === undefined ? [] : [decision];
    const found = await valuesOf({ ...setting, engine }, chosen, 8, rootKey(2));
    const different = new Set(decision?.candidates.map(({ reply }) => reply.text)).size;
    expect(found.failed.map(({ cause }) => cause.message)).toEqual(["the engine hangs"]);
    expect(found).toMatchObject({ played: 8 * different, unpaired: different - 1 });
    expect(found.decisions[0]?.scores.map(({ length }) => length)).toEqual(decision?.candidates.map(() => 7));
  });

  it("of equal actions are played once", async () => {
    const { decisions } = decisionsIn([await growEpisode(setting, rootKey(1), start)]);
    const { decisions: valued, played: all } = await valuesOf(setting, decisions, 4, rootKey(2));
    const texts = valued.map(({ candidates }) => new Set(candidates.map(({ reply }) => reply.text)).size);
    expect(sum(texts)).toBeLessThan(sum(valued.map(({ candidates }) => candidates.length)));
    expect(all).toBe(4 * sum(texts));
    for (const { candidates, scores } of valued)
      for (const [index, { reply }] of candidates.entries()) {
        const first = candidates.findIndex((one) => one.reply.text === reply.text);
        expect(scores[index]).toEqual(scores[first]);
      }
  });
});

it("decisions are sampled evenly over roles and turns, the same ones for the same key", async () => {
  const { played, words } = games.numbers;
  const setting = { ...settingOf(played, words), scheme: tree };
  const episode = await growEpisode(setting, rootKey(1), { task: {}, path: ["train", 1, 0] });
  const { decisions } = decisionsIn([episode]);
  const chosen = sampleDecisions(decisions, 4, rootKey(3));
  expect(chosen).toEqual(sampleDecisions(decisions, 4, rootKey(3)));
  const kinds = new Set(decisions.map(({ role, turn }) => `${role} ${turn}`));
  expect(new Set(chosen.map(({ role, turn }) => `${role} ${turn}`)).size).toBe(Math.min(4, kinds.size));
  expect(sampleDecisions(decisions, 1000, rootKey(3))).toEqual(decisions);
});

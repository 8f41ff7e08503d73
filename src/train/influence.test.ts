import { expect, test } from "vitest";
import type { Datum, Engine, LossResult } from "../engines/engine.ts";
import { rootKey } from "../random.ts";
import { growEpisode } from "../rollout/grow.ts";
import { numbersPolicy, settingFor } from "../rollout/testing/numbers.ts";
import { scriptedEngine, type Script } from "../rollout/testing/scripted-engine.ts";
import { influences, probesIn, type Probe } from "./influence.ts";

/** Says how probable a token is by the sum of the prompt's tokens. */
const summing: Pick<Engine, "forward"> = {
  forward: async (data: readonly Datum[]) =>
    ({
      logprobs: data.flatMap(({ prompt, continuations }) =>
        continuations.map(({ tokens }) =>
          Float32Array.from(tokens, () => -prompt.reduce((one, other) => one + other, 0)),
        ),
      ),
    }) as unknown as LossResult,
};

function probe(
  writer: string,
  prompt: readonly number[],
  replaced: readonly number[],
  length: number,
): Probe {
  const reply = {
    role: "reader",
    policy: "shared",
    prompt: Int32Array.from(prompt),
    tokens: new Int32Array(length),
  };
  return { writer, reply: reply as unknown as Probe["reply"], replaced: Int32Array.from(replaced) };
}

const policy = numbersPolicy();

/** What each role says, by sample and by what was said before; the best of three is kept. */
const table: Readonly<Record<string, readonly string[]>> = {
  "say first": ["1", "4", "2"],
  "say second 4": ["3", "3", "8"],
  "say first 4 8": ["5", "5", "5"],
  "say second 4 8 5": ["9", "1", "9"],
};
const byTable: Script = (_, index, prompt) => table[prompt.replace(/^you are \w+ /, "")]?.[index] ?? "0";

async function probed(script: Script, most = 9): Promise<string[][]> {
  const scheme = { branch: { root: 3, inner: 3 }, keep: "best" } as const;
  const setting = settingFor(policy, { engine: scriptedEngine(policy.tokenizer, script), scheme });
  const episode = await growEpisode(setting, rootKey(7), { task: {}, path: ["train", 0, 0] });
  const shown = (prompt: Int32Array) => policy.tokenizer.decode(prompt).replace(/^.*say/s, "say");
  return probesIn(setting, [episode], most).map(({ writer, reply, replaced }) => [
    writer,
    shown(reply.prompt),
    shown(replaced),
  ]);
}

test("the message is replaced by the next sample of its role in the same state that says another thing", async () => {
  expect(await probed(byTable)).toEqual([
    ["first", "say second 4", "say second 2"],
    ["second", "say first 4 8", "say first 4 3"],
  ]);
  expect(await probed(byTable, 1)).toHaveLength(2);
});

test("a role whose samples all say the same is not measured", async () => {
  expect(await probed(() => "5")).toEqual([]);
});

test("the influence is the mean absolute change over all tokens of a writer's probes", async () => {
  const probes = [
    probe("scout", [1, 2], [1, 5], 2),
    probe("scout", [4], [4], 1),
    probe("other", [4], [3], 2),
  ];
  expect(await influences(summing, probes)).toEqual(
    new Map([
      ["scout", { influence: (3 + 3 + 0) / 3, influenceReplies: 2 }],
      ["other", { influence: 1, influenceReplies: 1 }],
    ]),
  );
  expect(await influences(summing, [])).toEqual(new Map());
});

test("log-probabilities that are missing are an error, not an influence of nothing", async () => {
  const silent = { forward: async () => ({ logprobs: [Float32Array.of(-1)] }) as unknown as LossResult };
  await expect(influences(silent, [probe("scout", [1], [2], 1)])).rejects.toMatchObject({
    code: "bad_model",
  });
});

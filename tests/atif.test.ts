/** Exported trajectories against the schema of Harbor's models, and, if TROUPE_HARBOR_PYTHON has `harbor`, its validator. */
import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { action } from "../src/credit/testing.ts";
import { atifDocuments } from "../src/logging/atif/trajectory.ts";
import { writeAtif } from "../src/logging/atif/write.ts";
import type { Episode } from "../src/rollout/episode.ts";
import { readEpisodes, type StoredEpisode } from "../src/rollout/stored.ts";
import { HashEngine } from "../src/train/testing/hash-engine.ts";
import { tinyRecipe, wordsOf } from "../src/train/testing/tiny-recipe.ts";
import { layoutOf } from "../src/runs/layout.ts";
import { readEpisodeIndex } from "../src/runs/read-episodes.ts";
import { mean } from "../src/statistics.ts";
import { train } from "../src/train/run.ts";

const python = process.env["TROUPE_HARBOR_PYTHON"];
const schema = z.fromJSONSchema(
  JSON.parse(
    await fs.readFile(path.join(import.meta.dirname, "fixtures/atif/schema.json"), "utf8"),
  ) as Parameters<typeof z.fromJSONSchema>[0],
);
const run = { name: "tiny", recipe: "tiny", version: "0.1.0" };

interface Document {
  readonly trajectory_id: string;
  readonly steps: readonly {
    readonly step_id: number;
    readonly source: string;
    readonly message: string;
    readonly tool_calls?: readonly { readonly tool_call_id: string }[];
    readonly observation?: { readonly results: readonly { readonly source_call_id?: string }[] };
    readonly metrics?: {
      readonly prompt_token_ids: number[];
      readonly completion_token_ids: number[];
      readonly logprobs: number[];
    };
    readonly extra: {
      readonly action?: string;
      readonly role?: string;
      readonly advantage?: number;
      readonly left_out?: string;
    };
  }[];
  readonly extra: { readonly episode: string; readonly reward: number };
}

/** The schema, and the rules of its validators that no schema can express. */
function checked(document: unknown): Document {
  expect(schema.safeParse(document).error?.issues ?? []).toEqual([]);
  const { steps, ...rest } = document as Document;
  expect(steps.map(({ step_id }) => step_id)).toEqual(steps.map((_, index) => index + 1));
  const wrong = steps.flatMap(({ source, tool_calls = [], observation, metrics }) => {
    const ids = tool_calls.map(({ tool_call_id }) => tool_call_id);
    const answered = (observation?.results ?? []).flatMap(({ source_call_id }) => source_call_id ?? []);
    const isOfAgent = tool_calls.length > 0 || metrics !== undefined;
    return [
      ...(source !== "agent" && isOfAgent ? [`${source} has what only agents have`] : []),
      ...(new Set(ids).size < ids.length ? ["a call's id is used twice"] : []),
      ...answered.filter((id) => !ids.includes(id)).map((id) => `${id} is no call of the step`),
    ];
  });
  expect(wrong).toEqual([]);
  return { steps, ...rest };
}

function toolEpisode(): Episode {
  const call = { name: "search", arguments: { query: "</script>\u001b[31m" } };
  const broken = { name: "", arguments: {}, error: "no JSON: {" };
  const first = action({
    id: "/solver/0",
    reply: { text: "half \ud800", thinking: "hm", calls: [call, broken], truncated: false },
  });
  const second = action({ id: "0/solver/0", parent: "0", reply: { text: "Rome", truncated: false } });
  const messages = [
    { role: "tool", content: "Rome\u202e" },
    { role: "tool", content: "not a call" },
  ] as const;
  const common = { turn: 0, phase: 0, state: {}, kept: true, observations: {} };
  return {
    schema_version: 1,
    id: "train/1/0",
    path: ["train", 1, 0],
    split: "train",
    task: { question: "capital" },
    nodes: [
      {
        ...common,
        id: "",
        parent: null,
        rendered: "capital of Italy?",
        observations: { solver: [{ role: "user", content: "capital of Italy?" }] },
        actions: [],
        done: false,
      },
      {
        ...common,
        id: "0",
        parent: "",
        actions: [{ action: first.id, reward: null }],
        done: false,
        observations: { solver: messages },
        pending: { answered: { solver: { messages, calls: 2 } }, replies: {} },
      },
      {
        ...common,
        id: "0.0",
        parent: "0",
        rendered: "solved",
        actions: [{ action: second.id, reward: { team: 1, local: 0, parts: {} } }],
        done: true,
      },
    ],
    actions: [first, second],
    ends: [{ node: "0.0", outcome: { success: true, score: 1 }, turns: 1 }],
  };
}

function storedTools(): StoredEpisode {
  const entry = { id: "train/1/0", step: 1 } as StoredEpisode["entry"];
  const given = { group: "g", return: 1, advantage: 0 };
  const credit = [
    { action: "/solver/0", ...given },
    { action: "0/solver/0", ...given, leftOut: "down-sampled" as const },
  ];
  return { entry, episode: toolEpisode(), credit, promptText: () => "" };
}

describe("trajectories in ATIF", () => {
  let root = "";
  beforeAll(async () => {
    root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-atif-"));
    const resolved = tinyRecipe({ record: { training: { perStep: "all" } } });
    const engine = new HashEngine({
      vocabularySize: wordsOf(resolved).length + 6,
      endToken: 2,
      isConsistent: true,
    });
    await train({ ...resolved, directory: path.join(root, "tiny"), engine });
    await writeAtif(path.join(root, "tiny"), run, path.join(root, "out"));
    const [tools] = atifDocuments(run, storedTools());
    await fs.writeFile(path.join(root, "out", "tools.json"), JSON.stringify(tools).replaceAll("\\ud800", ""));
  });
  afterAll(() => fs.rm(root, { recursive: true }));

  it("of an episode whose alternatives were continued, only what the team played is a document", async () => {
    const algorithm = { name: "c3", samples: 3 };
    const resolved = tinyRecipe({ algorithm, record: { training: { perStep: "all" } } });
    const [directory, out] = ["c3", "c3-out"].map((name) => path.join(root, name)) as [string, string];
    const engine = new HashEngine({ vocabularySize: wordsOf(resolved).length + 6, endToken: 2 });
    await train({ ...resolved, directory, engine });
    await writeAtif(directory, run, out);
    const entries = await readEpisodeIndex(directory);
    const documents = await Promise.all(
      (await fs.readdir(out)).map(
        async (name) => JSON.parse(await fs.readFile(path.join(out, name), "utf8")) as Document,
      ),
    );
    expect(entries.some(({ branched }) => branched === true)).toBe(true);
    expect(documents).toHaveLength(entries.length);
    expect(mean(documents.map(({ extra }) => extra.reward))).toBeCloseTo(
      mean(entries.map(({ score }) => score)),
      12,
    );
  });

  it("every kept trajectory of a run is a document, with the exact tokens that were stored", async () => {
    const documents = new Map<string, Document>();
    for (const name of await fs.readdir(path.join(root, "out"))) {
      const document = checked(JSON.parse(await fs.readFile(path.join(root, "out", name), "utf8")));
      documents.set(document.trajectory_id, document);
    }
    let ends = 0;
    for await (const { episode, credit } of readEpisodes(path.join(root, "tiny"))) {
      for (const { node, outcome } of episode.ends) {
        ends += 1;
        const { steps = [], extra } = documents.get(`tiny/${episode.id}/${node}`) ?? {};
        expect(extra?.reward).toBe(outcome.score);
        const acted = steps.filter(({ source }) => source === "agent");
        expect(acted.length).toBe(node.split(".").length);
        for (const {
          metrics,
          extra: { action: id, role, advantage },
        } of acted) {
          const stored = episode.actions.find((one) => one.id === id);
          expect(role).toBe(stored?.role);
          expect(metrics?.prompt_token_ids).toEqual([...(stored?.prompt ?? [])]);
          expect(metrics?.completion_token_ids).toEqual([...(stored?.tokens ?? [])]);
          // JSON has no −0.
          expect(metrics?.logprobs).toEqual(Array.from(stored?.logprobs ?? [], (one) => one + 0));
          expect(advantage).toBe(credit?.find((one) => one.action === id)?.advantage);
        }
      }
    }
    expect(ends).toBeGreaterThan(10);
    expect(documents.size).toBe(ends + 1);
  });

  it("two runs never share a folder, and the run's own has only what the run has", async () => {
    const own = path.join(root, "own");
    await expect(writeAtif(path.join(root, "tiny"), run, path.join(root, "out"))).rejects.toMatchObject({
      code: "bad_arguments",
      message: expect.stringMatching(/out has files: give a new folder$/) as string,
    });
    await fs.mkdir(own);
    await fs.writeFile(path.join(own, "train-9-9.0.json"), "of an episode that is gone");
    const files = await writeAtif(path.join(root, "tiny"), run, own, true);
    const names = await fs.readdir(own);
    expect(names).toHaveLength(files);
    expect(names).not.toContain("train-9-9.0.json");
  });

  it("a damaged run leaves no documents", async () => {
    const [damaged, out] = [path.join(root, "damaged"), path.join(root, "none")];
    await fs.cp(path.join(root, "tiny"), damaged, { recursive: true });
    const { episodeData } = layoutOf(damaged);
    const bytes = await fs.readFile(episodeData);
    await fs.writeFile(episodeData, bytes.fill(0, bytes.length - 40));
    await expect(writeAtif(damaged, run, out)).rejects.toMatchObject({ code: "bad_run" });
    expect(await fs.readdir(out)).toEqual([]);
  });

  it("log-probabilities are left out where JSON has no number for one", () => {
    const stored = storedTools();
    const actions = stored.episode.actions.map((one) => ({
      ...one,
      logprobs: Float32Array.of(-Infinity, -1),
    }));
    const [document] = atifDocuments(run, { ...stored, episode: { ...stored.episode, actions } });
    const { steps } = checked(JSON.parse(JSON.stringify(document)));
    const measured = steps.flatMap(({ metrics }) => metrics ?? []);
    expect(measured.map((metrics) => "logprobs" in metrics)).toEqual([false, false]);
  });

  it("answers of tools belong to the step that called them, and nothing is shown twice", () => {
    const [document] = atifDocuments(run, storedTools());
    const { steps } = checked(document);
    expect(steps.slice(2).map(({ extra }) => extra.left_out)).toEqual([undefined, "down-sampled"]);
    expect(steps.map(({ source, message }) => [source, message])).toEqual([
      ["system", "capital of Italy?"],
      ["user", "user: capital of Italy?"],
      ["agent", "half \ud800"],
      ["agent", "Rome"],
    ]);
    expect(steps[2]?.observation?.results).toEqual([
      { source_call_id: "/solver/0/0", content: "Rome\u202e" },
      { source_call_id: "/solver/0/1", content: "not a call" },
    ]);
  });

  it("the schema rejects what the models forbid", () => {
    const [document] = atifDocuments(run, storedTools());
    expect(schema.safeParse({ ...document, other: 1 }).success).toBe(false);
    expect(schema.safeParse({ ...document, schema_version: "ATIF-v9" }).success).toBe(false);
    expect(
      schema.safeParse({ ...document, steps: [{ step_id: 0, source: "agent", message: "" }] }).success,
    ).toBe(false);
  });

  it.skipIf(python === undefined)("Harbor's validator accepts them (tests need TROUPE_HARBOR_PYTHON)", () => {
    const program = [
      "import pathlib, sys",
      "from harbor.utils.trajectory_validator import TrajectoryValidator",
      "files = sorted(pathlib.Path(sys.argv[1]).glob('*.json'))",
      "for file in files:",
      "    validator = TrajectoryValidator()",
      "    if not validator.validate(file): print(file, validator.get_errors())",
      "print(len(files))",
    ].join("\n");
    const printed = execFileSync(python ?? "", ["-c", program, path.join(root, "out")], { encoding: "utf8" });
    expect(printed).toMatch(/^[1-9]\d+\n$/);
  });
});

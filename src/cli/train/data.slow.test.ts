/** `troupe train` with a data set that is not in the cache, as a process, with a hub in this one. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startHub } from "../../data/testing/hub-server.ts";
import { humanEvalRow, jsonLines } from "../../data/testing/rows.ts";
import { initModel } from "../../models/init.ts";
import { presets } from "../../models/presets.ts";
import { likeQwen3, writeLargeTokenizer } from "../../text/testing/large-tokenizer.ts";
import { runCommand, troupe, type CommandOptions, type Outcome } from "../testing/command.ts";
import { untilDownloaded } from "../testing/downloads.ts";
import { folderWith } from "../testing/folder.ts";

const cwd = folderWith();
const cache = path.join(cwd, "cache");
const rows = Array.from({ length: 6 }, (_, number) => humanEvalRow(number));
const padding = Buffer.from(`{"padding":"${randomBytes(300_000).toString("hex")}"}\n`);
const contents = Buffer.concat([jsonLines(rows), padding]);
const hub = await startHub({ "openai/openai_humaneval": { files: { "test.jsonl": { contents } } } });

const recipe = `name: small
environment:
  name: code
  dataset: humaneval
  splits: { train: "test[2:]", heldOut: "test[:2]" }
team:
  roles: { helper: { policy: shared, maxTokens: 8 }, main: { policy: shared, maxTokens: 8 } }
  phases: [[helper, main]]
  turns: 1
policies: { shared: { model: { path: model } } }
algorithm: { name: magrpo, samples: 2 }
train: { steps: 1, tasksPerStep: 1, learningRate: 1.0e-3 }
evaluation: { tasks: 1 }
engine: { threads: 1 }
`;

beforeAll(async () => {
  const tokenizer = path.join(cwd, "tokenizer");
  mkdirSync(tokenizer);
  writeLargeTokenizer(tokenizer, likeQwen3);
  const size = { hiddenSize: 8, headSize: 8, heads: 1, keyValueHeads: 1, maxLength: 512 };
  const preset = { ...presets.nano, ...size };
  await initModel({ directory: path.join(cwd, "model"), preset, tokenizer, seed: 1 });
  await writeFile(path.join(cwd, "small.yaml"), recipe);
});
afterAll(() => hub.close());

function train(
  args: readonly string[],
  options: Partial<CommandOptions> = {},
  start: typeof troupe = runCommand,
): Promise<Outcome> {
  const env = { HF_ENDPOINT: hub.url, TROUPE_CACHE: cache, ...options.env };
  return start(["train", "small.yaml", ...args], { cwd, ...options, env });
}

it("says offline what to fetch, and where to put it", async () => {
  const { code, stderr } = await train([], { env: { HF_HUB_OFFLINE: "1" } });
  expect(code).toBe(2);
  expect(stderr).toContain(
    "small.yaml:3:3: environment: openai/openai_humaneval is not on this machine and cannot be downloaded: HF_HUB_OFFLINE is set\n",
  );
  expect(stderr).toContain(`into   ${path.join(cache, "data/placed/openai/openai_humaneval")}\n`);
});

it("names a recipe's other mistakes before it downloads", async () => {
  hub.seen.length = 0;
  const { code, stderr } = await train(["policies.shared.model.path=nowhere", "evaluation.split=other"]);
  expect(code).toBe(2);
  expect(stderr).toContain("nowhere");
  expect(stderr).toContain("evaluation.split");
  expect(hub.seen).toEqual([]);
});

it("Ctrl-C during the download says that it resumes, and it does, with a line of progress", async () => {
  const half = contents.length >> 1;
  hub.faults.push((request, response) => {
    if (request.origin !== "storage") return false;
    response.writeHead(200, { "content-length": contents.length });
    response.write(contents.subarray(0, half));
    return true;
  });
  const interrupted = await train([], { interruptAfter: untilDownloaded(cache, half) }, troupe);
  expect(interrupted).toMatchObject({
    code: 130,
    stdout: "",
    stderr: "stopping; the same command resumes the download\nerror: Cancelled.\n",
  });
  const left = await readdir(cache, { recursive: true });
  expect(left.filter((name) => path.basename(name).startsWith("lock-"))).toEqual([]);
  hub.faults.length = 0;
  hub.seen.length = 0;
  const { code, stdout, stderr } = await train(["--dry-run"]);
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /^test\.jsonl 1 MB\nopening the models\nopened in .*\nallocating .*\n(?:.* tokens per second\n){3}$/,
  );
  expect(hub.seen.find(({ origin }) => origin === "storage")?.range).toBe(`bytes=${half}-`);
  expect(stdout).toMatch(
    /^data train: openai\/openai_humaneval at aaaaaaaaaaaa, test\[2:\]: 4 problems \(1 malformed and 0 failing ones skipped\), content hash [0-9a-f]{12}$/m,
  );
  const json = JSON.parse((await train(["--dry-run", "--json"])).stdout) as { data: object };
  expect(json.data).toMatchObject({ heldOut: { slices: "test[:2]", problems: 2, malformed: 0, failing: 0 } });
});

it("a run that lacks a key ends at its start, and leaves no folder", async () => {
  const expert = ["environment.feedback=expert_edits", "environment.expert={provider: deepseek, model: m}"];
  for (const more of [["--dry-run"], []]) {
    const { code, stdout, stderr } = await train([...expert, ...more], { env: { DEEPSEEK_API_KEY: "" } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("The expert m needs a key in DEEPSEEK_API_KEY");
    expect(await readdir(path.join(cwd, "runs")).catch(() => [])).toEqual([]);
  }
});

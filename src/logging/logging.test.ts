/** Sinks beside a run: secrets, tables, TensorBoard, Weights & Biases. */
import fs from "node:fs/promises";
import path from "node:path";
import { expect, it, beforeEach } from "vitest";
import { withoutSecrets } from "./settings.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { rootKey } from "../random.ts";
import { growEpisode } from "../rollout/grow.ts";
import { newEpisode } from "../rollout/stored.ts";
import { numbersPolicy, settingFor } from "../rollout/testing/numbers.ts";
import { scriptedEngine } from "../rollout/testing/scripted-engine.ts";
import { EpisodeLog } from "../runs/episode-log.ts";
import { layoutOf } from "../runs/layout.ts";
import { startRun, appendSteps } from "./testing/run-folder.ts";
import { csvLines, readTable, tableOf } from "./tables/tables.ts";
import type { Point } from "./sink.ts";
import { crc32c, eventFile, tensorboardSink } from "./tensorboard/sink.ts";
import { wandbSink } from "./wandb/sink.ts";

let root = "";
beforeEach(() => {
  root = temporaryFolder();
});

const environment = {
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20dXNlcjpwYXNz%3D,x-team=a",
  WANDB_API_KEY: "0123456789abcdef",
  WANDB_PROJECT: "a-project-of-mine",
};

it.each([
  "the key 0123456789abcdef is wrong",
  "the key \\u0030123456789abcdef is wrong",
  "no such user: Basic dXNlcjpwYXNz=",
  "no such user: dXNlcjpwYXNz=",
  `no such header: ${environment.OTEL_EXPORTER_OTLP_HEADERS}`,
])("what a service says is shown without keys: %s", (said) => {
  const shown = withoutSecrets(said, environment);
  expect(shown).toMatch(/\[(WANDB_API_KEY|OTEL_EXPORTER_OTLP_HEADERS)\]/);
  expect(shown).not.toMatch(/123456789abcdef|dXNlcjpwYXNz/);
});

it("other variables are no secrets", () => {
  const said = "there is no a-project-of-mine of team a";
  expect(withoutSecrets(said, environment)).toBe(said);
});

it("has a column for each value that any step has, and leaves empty what a step has not", () => {
  const records = [
    { step: 1, stage: "warm-start", policies: { shared: { loss: 0.5 } } },
    { step: 2, stage: 'a "b", c', policies: { shared: { loss: 1e-7, kl: 0 } }, rollout: { success: 0.25 } },
    { step: 3, rollout: { success: null, parts: {} } },
  ];
  expect(csvLines(tableOf(records))).toEqual([
    "step,stage,policies.shared.loss,policies.shared.kl,rollout.success",
    "1,warm-start,0.5,,",
    '2,"a ""b"", c",1e-7,0,0.25',
    "3,,,,",
  ]);
  expect(csvLines(tableOf([]))).toEqual([""]);
});

it("has no cell that a spreadsheet runs, or that controls a terminal", () => {
  const texts = ["=1+1", "@SUM(A1)", "+cmd", "-2+3", "-1.5", "\tx", "a\u202eb\u001b[31m"];
  const rows = texts.map((stage) => csvLines(tableOf([{ stage }]))[1]);
  expect(rows).toEqual(["'=1+1", "'@SUM(A1)", "'+cmd", "'-2+3", "-1.5", "'\tx", "a\ufffdb\ufffd[31m"]);
  expect(csvLines(tableOf([{ loss: -1.5 }]))[1]).toBe("-1.5");
});

it("says of each action why it was not trained", async () => {
  await startRun(root);
  const policy = numbersPolicy();
  const engine = scriptedEngine(policy.tokenizer, () => "5");
  const start = { id: "train/1/0", task: {}, path: ["train", 1, 0] };
  const episode = await growEpisode(settingFor(policy, { engine }), rootKey(1), start);
  const log = await EpisodeLog.open(layoutOf(root), () => true);
  const credit = episode.actions.map(({ id }, index) => {
    const given = { action: id, group: "g", return: 1, advantage: 0 };
    return index === 0 ? { ...given, leftOut: "down-sampled" as const } : given;
  });
  await log.append(newEpisode(episode, { step: 1 }, () => "", credit));
  const { rows } = await readTable(root, "actions");
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.map((row) => row.get("leftOut"))).toEqual(
    episode.actions.map((_, index) => (index === 0 ? "down-sampled" : undefined)),
  );
});

function point(time: number, step: number, values: Readonly<Record<string, number>>): Point {
  return { key: `metrics/${step}`, step, time, values: new Map(Object.entries(values)) };
}

// RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
it.each([
  [Buffer.alloc(32), 0x8a9136aa],
  [Buffer.alloc(32, 255), 0x62a8ab43],
  [Buffer.from("123456789"), 0xe3069283],
])("computes CRC-32C", (data, expected) => {
  expect(crc32c(data)).toBe(expected);
});

it("writes the same bytes as TensorBoard's own writer", async () => {
  const points = [
    point(1_700_000_001_000, 1, { loss: 0.25, success: -3.5 }),
    point(1_700_000_002_750, 300, { "policies/größe": 1e-7 }),
  ];
  const expected = await fs.readFile(path.join(import.meta.dirname, "tensorboard/fixtures/events.tfevents"));
  expect(eventFile(1_700_000_000_500, points).toString("hex")).toBe(expected.toString("hex"));
});

const folder = () => path.join(root, "logging", "tensorboard");

async function onlyFile(): Promise<{ readonly name: string; readonly contents: string }> {
  const names = await fs.readdir(folder());
  expect(names).toHaveLength(1);
  const name = names.join();
  return { name, contents: await fs.readFile(path.join(folder(), name), "hex") };
}

it("extends the file while the run grows, and writes it again if steps were repeated", async () => {
  await startRun(root);
  const sink = tensorboardSink(root);
  await appendSteps(root, 1, 3, 0.5);
  await sink.update();
  const short = await onlyFile();
  await appendSteps(root, 4, 5, 0.5);
  await sink.update();
  const long = await onlyFile();
  expect(long.name).toBe(short.name);
  expect(long.contents.length).toBeGreaterThan(short.contents.length);
  expect(long.contents.startsWith(short.contents)).toBe(true);

  // A resume rewinds the records and repeats the steps; this time they take longer.
  await startRun(root);
  await appendSteps(root, 1, 3, 0.5);
  await sink.update();
  expect(await onlyFile()).toEqual(long);
  await appendSteps(root, 4, 6, 0.75);
  await sink.update();
  const { contents } = await onlyFile();
  await fs.rm(folder(), { recursive: true });
  await sink.update();
  expect((await onlyFile()).contents).toBe(contents);
});

it("completes a file that a killed process left incomplete", async () => {
  await startRun(root);
  await appendSteps(root, 1, 3, 0.5);
  const sink = tensorboardSink(root);
  await sink.update();
  const whole = await onlyFile();
  await fs.truncate(path.join(folder(), whole.name), whole.contents.length / 2 - 7);
  await sink.update();
  expect(await onlyFile()).toEqual(whole);
});

/** In place of the library: writes what it is called with. */
const library = `
import json, os
def write(**call):
    with open(os.path.join(os.path.dirname(__file__), "calls"), "a") as file:
        print(json.dumps(call), file=file)
class Run:
    def log(self, values, step): write(step=step, loss=values["policies/shared/loss"])
    def finish(self, quiet): write(finished=True)
def Settings(**_): return None
def init(id, project, mode, **_):
    keys = [name for name in os.environ if name.endswith("_KEY")]
    write(id=id, project=project, mode=mode, keys=keys)
    return Run()
`;

it("hands every step to the library once, in however many processes", async () => {
  await fs.writeFile(path.join(root, "wandb.py"), library);
  const python = path.join(root, "python");
  await fs.writeFile(python, `#!/bin/sh\nPYTHONPATH=${root} exec python3 "$@"\n`, { mode: 0o755 });
  const run = path.join(root, "tiny");
  await fs.mkdir(run);
  await startRun(run);
  const settings = { project: "troupe", python, mode: "offline" } as const;
  const given = { ...process.env, WANDB_API_KEY: "own", OTHER_API_KEY: "another service's" };
  const update = async () => {
    const sink = await wandbSink(run, settings, given);
    await sink.update();
    await sink.close();
  };
  await appendSteps(run, 1, 2, 0.5);
  await update();
  await update();
  await appendSteps(run, 3, 3, 0.5);
  await update();
  const lines = (await fs.readFile(path.join(root, "calls"), "utf8")).trim().split("\n");
  const begun = {
    project: "troupe",
    mode: "offline",
    keys: ["WANDB_API_KEY"],
    id: expect.any(String) as string,
  };
  const calls = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(calls).toEqual([
    begun,
    { step: 1, loss: 1 },
    { step: 2, loss: 0.5 },
    { finished: true },
    begun,
    { step: 3, loss: 1 / 3 },
    { finished: true },
  ]);
  expect(calls[4]?.["id"]).toBe(calls[0]?.["id"]);
});

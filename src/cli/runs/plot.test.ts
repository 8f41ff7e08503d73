import fs from "node:fs/promises";
import path from "node:path";
import { expect, it, beforeAll } from "vitest";
import { parquetReadObjects } from "hyparquet";
import { textChart } from "../../charts/text.ts";
import { labelsOf } from "./labels.ts";
import { plotOf, smoothed } from "./plot.ts";
import { appendSteps, startRun } from "../../logging/testing/run-folder.ts";
import { runCommand } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

const at = (...points: readonly (readonly [number, number])[]) => points.map(([x, y]) => ({ x, y }));
const line = (name: string, ...values: readonly number[]) => ({
  name,
  points: values.map((y, x) => ({ x, y })),
});

it("a mean is over steps: evaluations that are further apart stay as they are", () => {
  const evaluations = at([0, 0], [20, 0.25], [40, 0.5], [60, 0.75]);
  expect(smoothed(evaluations, 5)).toEqual(evaluations);
  expect(smoothed(evaluations, 21)).toEqual(at([0, 0], [20, 0.125], [40, 0.375], [60, 0.625]));
});

it("of a figure of every step it is over as many points", () => {
  expect(smoothed(at([1, 1], [2, 2], [3, 3], [4, 4]), 2)).toEqual(at([1, 1], [2, 1.5], [3, 2.5], [4, 3.5]));
});

it("has a range that is never empty, and whole steps", () => {
  const curve = { name: "a", points: [{ x: 4, y: 2 }] };
  expect(plotOf([curve], "loss").y.range).toEqual([1, 3]);
  expect(plotOf([curve], "success").y.range).toEqual([0, 1]);
  expect([plotOf([curve], "loss"), plotOf([], "loss")].map(({ x }) => x.range)).toEqual([
    [0, 4],
    [0, 1],
  ]);
  expect(plotOf([line("a", 0, 1, 2)], "loss").x.ticks.map(({ label }) => label)).toEqual(["0", "1", "2"]);
});

it("shows whole labels where all values are 0", () => {
  const lines = textChart(plotOf([line("flat", 0, 0, 0)], "success"), { columns: 60 }).split("\n");
  const labels = lines.flatMap((each) => /^ *([\d.]+)┤/.exec(each)?.[1] ?? []);
  expect(labels).toEqual(["1.0", "0.8", "0.6", "0.4", "0.2", "0.0"]);
});

it("draws every run with its own mark, and marks in turn where runs coincide", () => {
  const curves = [line("up", 0, 1, 1), line("flat", 1, 1, 1)];
  const drawn = textChart(plotOf(curves, "success"), { columns: 27 });
  // By hand: 27 columns less three of labels and two are 22; the first step is in column 0, the second in column 11.
  expect(drawn.split("\n").slice(2, 4)).toEqual(["1.0┤oooooooooooo*o*o*o*o*o", "   │          *"]);
  expect(drawn).toContain("\n  * up: 0 → 1.00 at step 2\n  o flat:\n    1.00 → 1.00 at step 2\n");
});

it.each([20, 60, 80, 120])("fits %i columns", (columns) => {
  const curves = [line("a", 1, 2, 30), line("b", ...Array.from({ length: 1200 }, (_, step) => step / 7))];
  const lines = textChart(plotOf(curves, "rollout.score"), { columns }).split("\n");
  expect(Math.max(...lines.map((each) => each.length))).toBeLessThanOrEqual(Math.max(columns, 30));
});

it.each([
  ["runs/one runs/two", "one two"],
  ["first/runs/one second/runs/one runs/two", "first/runs/one second/runs/one two"],
  ["/a/one /b/one /c/two/one", "a/one b/one two/one"],
  ["/one /a/one", "/one a/one"],
  ["runs/one ./runs/one", "one one"],
])("%s are called %s", (directories, labels) => {
  expect(labelsOf(directories.split(" ")).join(" ")).toBe(labels);
});

const root = folderWith();
beforeAll(async () => {
  await fs.mkdir(path.join(root, "runs", "tiny"), { recursive: true });
  await startRun(path.join(root, "runs", "tiny"));
  await appendSteps(path.join(root, "runs", "tiny"), 1, 3, 0.5);
});

const exported = (...args: string[]) => runCommand(["runs", "export", "tiny", ...args], { cwd: root });

it("prints and writes the metrics of a run as a table", async () => {
  const { stdout } = await exported();
  const [header, ...lines] = stdout.trim().split("\n");
  expect(header).toMatch(/^schema_version,step,stage,stageStep,policies\.shared\.loss,/);
  expect(lines.map((each) => each.split(",").slice(1, 5))).toEqual([
    ["1", "reinforcement", "1", "1"],
    ["2", "reinforcement", "2", "0.5"],
    ["3", "reinforcement", "3", String(1 / 3)],
  ]);
  expect((await exported("--out", "metrics.csv")).stdout).toBe("metrics of tiny: 3 rows in metrics.csv\n");
  expect(await fs.readFile(path.join(root, "metrics.csv"), "utf8")).toBe(stdout);

  await exported("--out", "metrics.parquet");
  const { buffer } = new Uint8Array(await fs.readFile(path.join(root, "metrics.parquet")));
  const rows = await parquetReadObjects({ file: buffer });
  expect(rows.map((row) => [row["step"], row["stage"], row["policies.shared.loss"]])).toEqual([
    [1, "reinforcement", 1],
    [2, "reinforcement", 0.5],
    [3, "reinforcement", 1 / 3],
  ]);
});

it("rejects what it cannot write or send", async () => {
  expect((await exported("--format", "parquet")).stderr).toContain("give its name with --out");
  expect((await exported("logging.tensorboard=true")).stderr).toContain("overrides are for --to");
  expect((await exported("--to", "wandb", "logging.wandb.projet=x")).stderr).toContain("project");
  expect((await exported("--to", "otlp")).stderr).toContain("OTEL_EXPORTER_OTLP_ENDPOINT");
  const withKey = await exported("--to", "otlp", "logging.otlp.endpoint=http://me:secret@localhost");
  expect(withKey.stderr).toContain("OTEL_EXPORTER_OTLP_HEADERS");
  const missing = await exported("--to", "wandb", "logging.wandb.python=no-such-python");
  expect(missing.code).not.toBe(0);
  expect(missing.stderr).toContain("no-such-python cannot be started");
  expect((await exported("--table", "actions", "--out", "none.parquet")).stdout).toContain("0 rows");
});

it("writes TensorBoard's event file", async () => {
  const { stdout, code } = await exported("--to", "tensorboard");
  expect([code, stdout]).toEqual([0, expect.stringContaining("tensorboard --logdir")]);
  const [name] = await fs.readdir(path.join(root, "runs", "tiny", "logging", "tensorboard"));
  expect(name).toBe("events.out.tfevents.1700000000.troupe.1");
});

import fs from "node:fs/promises";
import path from "node:path";
import { parquetReadObjects } from "hyparquet";
import { beforeAll, expect, it } from "vitest";
import { appendSteps, startRun } from "../../logging/testing/run-folder.ts";
import { runCommand } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

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
  expect(lines.map((line) => line.split(",").slice(1, 5))).toEqual([
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

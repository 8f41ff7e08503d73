import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { plan as planExperiment, run as runExperiment } from "../../experiments/experiment.ts";
import { loadExperiment } from "../../experiments/load.ts";
import type { ReportRecord } from "../../experiments/records.ts";
import { reportSchema } from "../../experiments/records.ts";
import { readEvaluations, readResult } from "../../runs/read.ts";
import { exitCodes } from "../exit.ts";
import type { Outcome } from "../testing/command.ts";
import { jsonLines, runCommand, troupe } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

const miniature = fileURLToPath(new URL("../../experiments/fixtures/miniature.yaml", import.meta.url));
const program = fileURLToPath(new URL("../../../bin/troupe.js", import.meta.url));

const cwd = folderWith();

/** Of the first seed, unless others are named. */
function run(runs: string, ...args: string[]): Promise<Outcome> {
  const seeds = args.includes("--seeds") ? [] : ["--seeds", "1"];
  return runCommand(["experiment", miniature, "--runs", runs, ...seeds, ...args], { cwd });
}

/** The runs of `whole` without those of some rows, and without the evaluation of swapped roles. */
async function copied(runs: string, ...without: string[]): Promise<void> {
  await cp(join(cwd, "whole"), join(cwd, runs), { recursive: true });
  for (const row of without) await rm(await folderOf(runs, `${row}-seed-1`), { recursive: true });
  for (const name of [".evaluations", "miniature.json"]) await rm(join(cwd, runs, name), { recursive: true });
}

function remade(runs: string): Promise<Outcome> {
  return runCommand(["experiment", join(runs, "miniature.json")], { cwd });
}

async function reportOf(runs: string): Promise<ReportRecord> {
  return reportSchema.parse(JSON.parse(await readFile(join(cwd, runs, "miniature.json"), "utf8")));
}

/** Everything but the clock. */
function comparable({ cells }: ReportRecord) {
  return cells.map(({ row, seed, hash, status, numbers }) => ({
    row,
    seed,
    hash,
    status,
    ...numbers,
    seconds: 0,
    perEpisode: numbers?.perEpisode?.tokens,
  }));
}

async function folderOf(runs: string, cell: string): Promise<string> {
  const name = (await readdir(join(cwd, runs))).find((each) => each.startsWith(`boards-${cell}-`));
  return join(cwd, runs, name ?? "there is none");
}

describe("troupe experiment", () => {
  it("runs every cell; the report has the runs' own numbers; repeated, it runs nothing", async () => {
    const { code, stdout, stderr } = await run("whole");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "report: whole/miniature.html, whole/miniature.md, whole/miniature.json\n",
    });
    expect(stderr).toContain("4 cells, 0 done, 4 to do");
    expect(stderr).toMatch(/boards, swapped, seed 1: done, \d+\.\d % of 30 tasks/);
    const report = await reportOf("whole");
    expect(report.cells.every(({ status }) => status === "done")).toBe(true);

    const directory = await folderOf("whole", "team-per-role-seed-1");
    const result = await readResult(directory);
    const cell = report.cells.find(({ row, seed }) => row === "team-per-role" && seed === 1);
    const after = result.table.find(({ moment }) => moment === "after");
    expect(cell?.numbers).toMatchObject({
      tasks: 30,
      successes: after?.successes,
      success: after?.success,
      steps: 6,
      updates: 6,
      tokens: { trained: result.tokens.trained },
      seconds: result.seconds.total,
    });
    expect(cell?.numbers?.curve.map(({ step }) => step)).toEqual([0, 2, 4, 6]);
    const before = (await readEvaluations(directory))[0];
    expect(cell?.numbers?.curve[0]).toEqual({
      step: 0,
      sampledTokens: 0,
      success: before?.success,
      tasks: 30,
    });

    // It begins with a model directory, but is not watched as a pretrained model would be.
    expect(await readFile(join(directory, "recipe.yaml"), "utf8")).toContain("watch: off");
    // Before its first step, such a row equals the warm start.
    const warm = await readResult(await folderOf("whole", "warm-start-seed-1"));
    expect(before?.success).toBe(warm.table.find(({ team }) => team === "team")?.success);
    const single = report.cells.find(({ row, seed }) => row === "single-agent" && seed === 1);
    expect(single?.numbers?.success).toBe(warm.table.find(({ team }) => team === "single-agent")?.success);

    const list = await runCommand("runs --runs whole --json", { cwd });
    const runs = JSON.parse(list.stdout) as { status: string }[];
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "finished"));
    expect((await runCommand("runs --runs .", { cwd })).stdout).toContain("no runs in .");

    const files = ["json", "md", "html"].map((ending) => join(cwd, "whole", `miniature.${ending}`));
    const written = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const again = await run("whole");
    expect(again.code).toBe(0);
    expect(again.stderr).toContain("4 cells, all done");
    // From the runs and an earlier report, from the runs, and from the report alone.
    for (const remake of [again, await run("whole", "--only-report"), await remade("whole")]) {
      expect(remake.code).toBe(0);
      expect(await Promise.all(files.map((file) => readFile(file, "utf8")))).toEqual(written);
    }
  });

  it("resumes after kill -9 and ends with the same numbers", async () => {
    await copied("killed", "team-per-role");
    const args = [program, "experiment", miniature, "--seeds", "1", "--runs", "killed"];
    const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "inherit", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (/, seed \d: team at step 2/.test(said)) child.kill("SIGKILL");
    });
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    expect({ code, signal }).toEqual({ code: null, signal: "SIGKILL" });
    const { code: second, stderr } = await run("killed");
    expect(second).toBe(0);
    expect(stderr).toContain("4 cells, 2 done");
    expect(stderr).toContain(": resumed after step ");
    expect(comparable(await reportOf("killed"))).toEqual(comparable(await reportOf("whole")));
  });

  it("two concurrent experiments in one folder of runs share the work and end with the same numbers", async () => {
    const args = ["--seeds", "1", "--rows", "team-per-role"];
    const [one, other] = await Promise.all(
      ["one", "other"].map((report) => run("together", ...args, "--report", report)),
    );
    expect([one?.code, other?.code]).toEqual([0, 0]);
    const reports = await Promise.all(
      ["one", "other"].map(async (folder) =>
        reportSchema.parse(JSON.parse(await readFile(join(cwd, folder, "miniature.json"), "utf8"))),
      ),
    );
    const [mine, theirs] = reports.map(({ cells }) => cells.map(({ row, numbers }) => ({ row, numbers })));
    expect(mine).toEqual(theirs);
    expect(mine?.find(({ row }) => row === "team-per-role")?.numbers?.steps).toBe(6);
  });

  it("tries a cell again that another process was writing, even if that one has ended", async () => {
    // Ends like a run in use the first time; afterwards there is no lock.
    const marker = join(cwd, "was-rejected");
    const wrapper = join(cwd, "wrapper.mjs");
    await writeFile(
      wrapper,
      `import { existsSync, writeFileSync } from "node:fs";
        if (existsSync(${JSON.stringify(marker)})) await import(${JSON.stringify(pathToFileURL(program).href)});
        else { writeFileSync(${JSON.stringify(marker)}, ""); process.exit(${exitCodes.inUse}); }`,
    );
    const folder = join(cwd, "rejected");
    const options = {
      experiment: loadExperiment(miniature),
      given: miniature,
      runs: folder,
      report: folder,
      seeds: [1],
      jobs: 1,
    };
    const launch = { command: process.execPath, arguments: [wrapper] };
    const planned = await planExperiment({ ...options, rows: ["single-agent"], columns: undefined });
    const { ended } = await runExperiment(planned, launch, new AbortController().signal, () => {});
    expect([...ended.values()]).toEqual(["done"]);
    expect(existsSync(marker)).toBe(true);
  });

  it("Ctrl-C stops it and says how to resume", async () => {
    const args = ["experiment", miniature, "--runs", "stopped", "--seeds", "1", "--json"];
    let pressed = false;
    const { code, stdout, stderr } = await troupe(args, {
      cwd,
      watch: (text, interrupt) => {
        if (pressed || !text.includes("cell-started")) return;
        pressed = true;
        interrupt();
      },
    });
    expect(code).toBe(130);
    expect(stderr).toContain("the same command resumes");
    const events = jsonLines<{ type: string }>({ stdout });
    expect(events.map(({ type }) => type)).toContain("report");
    expect(events.filter(({ type }) => type === "cell-started")).toHaveLength(1);
  });

  it("a failed cell is reported and marked; the others finish, and those that need it do not start", async () => {
    expect((await run("broken", "--seeds", "1,2", "--dry-run")).stdout).toContain(
      "8 results from 8 cells (6 trainings, 2 evaluations), 8 cells to do;",
    );
    const plan = await run("broken", "--dry-run", "--json");
    const { cells } = JSON.parse(plan.stdout) as { cells: { row: string; folder: string }[] };
    await copied("broken", "single-agent-grpo", "team-per-role");
    // A run whose records are damaged.
    const folder = cells.find(({ row }) => row === "team-per-role")?.folder ?? "";
    await mkdir(join(cwd, folder), { recursive: true });
    await writeFile(join(cwd, folder, "metrics.jsonl"), "no JSON\nat all\n");
    const { code, stderr } = await run("broken", "--jobs", "1");
    expect(code).toBe(1);
    expect(stderr).toMatch(/boards, team-per-role, seed 1: failed: .*metrics\.jsonl:1 is not a JSON object/);
    expect(stderr).toContain("1 cell failed, 1 could not start; the same command retries them");
    const report = await reportOf("broken");
    expect(report.cells.map(({ row, status }) => [row, status])).toEqual([
      ["single-agent", "done"],
      ["single-agent-grpo", "done"],
      ["team-per-role", "failed"],
      ["swapped", "missing"],
      ["warm-start", "done"],
    ]);
    expect(report.cells[3]?.problem).toBe("needs boards-team-per-role-seed-1, which failed");
    expect(await readFile(join(cwd, "broken", "miniature.md"), "utf8")).toContain("**Not complete:**");
    expect(report.command).toBe("troupe experiment miniature.yaml --seeds 1 --runs broken");
    expect(report.sessions[0]?.command).toBe(
      "troupe experiment miniature.yaml --seeds 1 --jobs 1 --runs broken",
    );
  });

  it("adds a seed to a report whose runs are gone, with only its JSON for the old ones", async () => {
    const args = ["--from", join("whole", "miniature.json"), "--rows", "single-agent", "--seeds", "3"];
    const { code, stderr } = await run("more", ...args);
    expect(code).toBe(0);
    expect(stderr).toContain("1 cell, 0 done, 1 to do");
    const report = await reportOf("more");
    expect(report.seeds).toEqual([1, 3]);
    const [old, added] = [await reportOf("whole"), report.cells.filter(({ seed }) => seed === 3)];
    const kept = report.cells.filter(({ seed }) => seed !== 3);
    expect(comparable({ ...report, cells: kept })).toEqual(comparable(old));
    expect(added.map(({ row, status }) => [row, status])).toEqual([
      ["single-agent", "done"],
      ["single-agent-grpo", "missing"],
      ["team-per-role", "missing"],
      ["swapped", "missing"],
      ["warm-start", "done"],
    ]);
  });

  it("regenerates the pages from the JSON, lists experiments, and rejects unknown ones", async () => {
    const again = await runCommand(["experiment", join("whole", "miniature.json"), "--report", "pages"], {
      cwd,
    });
    expect(again.code).toBe(0);
    const [before, after] = await Promise.all(
      ["whole", "pages"].map((folder) => readFile(join(cwd, folder, "miniature.html"), "utf8")),
    );
    expect(after).toBe(before);
    const list = await runCommand("experiment", { cwd });
    expect(list.stdout).toMatch(/^experiment +results +cells +minutes +compares$/m);
    expect(list.stdout).toMatch(/^at-grpo-table +63 +54 /m);
    const wrong = await runCommand("experiment at-grpo-tabel", { cwd });
    expect(wrong).toMatchObject({
      code: 2,
      stderr: "error: there is no experiment at-grpo-tabel; did you mean `at-grpo-table`?\n",
    });
    const row = await run("whole", "--rows", "swaped");
    expect(row).toMatchObject({
      code: 2,
      stderr: "error: the experiment has no row swaped; did you mean `swapped`?\n",
    });
    expect((await run("whole", "--seeds", "1,x")).stderr).toContain("Expected a whole number");
    expect((await run("whole", "--seeds", "1,1")).stderr).toContain("The seed 1 is given twice.");
  });

  it("fails before anything runs if the report or the runs cannot be written", async () => {
    await writeFile(join(cwd, "a-file"), "");
    const report = await run("unwritten", "--report", "a-file");
    expect(report).toMatchObject({ code: 1, stdout: "" });
    expect(report.stderr).toContain("Cannot write a-file: a file is in the way where a folder is needed");
    const runs = await run("a-file", "--report", "pages");
    expect(runs).toMatchObject({
      code: 2,
      stderr: "error: the runs of an experiment need a folder, and a-file is a file\n",
    });
    expect(await readdir(cwd)).not.toContain("unwritten");
  });

  it("--json prints where the report is, even if nothing runs", async () => {
    const { stdout } = await run("empty", "--only-report", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ type: "report", files: { json: "empty/miniature.json" } });
    const again = await runCommand("experiment empty/miniature.json --json", { cwd });
    expect(JSON.parse(again.stdout)).toMatchObject({
      type: "report",
      files: { html: "empty/miniature.html" },
    });
  });
});

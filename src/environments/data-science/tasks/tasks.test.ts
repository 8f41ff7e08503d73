import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { metricNamed, metricNames } from "../metrics/metric.ts";
import { writeDsbench } from "../testing/dsbench-folder.ts";
import { convertDsbench, describedIn, dsbenchMetric } from "./dsbench.ts";
import { tasksIn, writeTask } from "./folder.ts";
import { generatedTasks } from "./generated/tasks.ts";
import { sourceFrom, stratified, TaskLibrary } from "./library.ts";
import { openTask, type TaskFile, type TaskText } from "./task.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-tasks-"));
const at = (name: string): string => path.join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

describe("the generated tasks", () => {
  const tasks = generatedTasks();

  it("are 24, of both types in each split, with every metric of the benchmark", async () => {
    expect(tasks).toHaveLength(24);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(24);
    const counts = Map.groupBy(tasks, ({ split }) => split);
    expect([...counts].map(([split, some]) => [split, some.length])).toEqual([
      ["train", 15],
      ["validation", 3],
      ["heldOut", 6],
    ]);
    for (const some of counts.values()) expect(new Set(some.map(({ type }) => type)).size).toBe(2);
    const used = new Set(await Promise.all(tasks.map(async (task) => (await task.read()).about.metric)));
    for (const name of ["accuracy", "f1", "auc", "log-loss", "rmse", "mae", "rmsle"] as const)
      expect(used).toContain(name);
  });

  it("are the same each time, small, and worth solving: gold is far from every constant", async () => {
    const again = generatedTasks();
    for (const [index, task] of tasks.entries()) {
      const text = await task.read();
      expect(await again[index]?.read()).toEqual(text);
      expect(text.train.length + text.test.length).toBeLessThan(60_000);
      const { scale, metric } = openTask(text);
      const distance =
        Math.abs(scale.gold - scale.baseline) / Math.max(Math.abs(scale.baseline), Math.abs(scale.gold));
      expect([task.id, distance > 0.1, scale.gold > scale.baseline]).toEqual([
        task.id,
        true,
        metricNamed(metric).isLargerBetter,
      ]);
    }
  });

  it("have missing values, dates and text", async () => {
    const texts = await Promise.all(tasks.map((task) => task.read()));
    expect(texts.filter(({ train }) => /,,|,\n/.test(train)).length).toBeGreaterThan(15);
    expect(texts.filter(({ train }) => /,\d{4}-\d\d-\d\d[, ]/.test(train)).length).toBeGreaterThan(4);
    expect(texts.filter(({ train }) => /,[a-z]+ [a-z]+/i.test(train)).length).toBeGreaterThan(2);
  });
});

describe("folders of tasks", () => {
  it("give back what was written, and are not overwritten", async () => {
    const place = at("own");
    const tasks = generatedTasks().slice(0, 3);
    for (const task of tasks) await writeTask(place, await task.read());
    const found = await tasksIn(place);
    expect(found.map(({ id }) => id)).toEqual(tasks.map(({ id }) => id).toSorted());
    for (const task of tasks)
      expect(await found.find(({ id }) => id === task.id)?.read()).toEqual(await task.read());
    const [first] = tasks;
    await expect(first?.read().then((text) => writeTask(place, text))).rejects.toMatchObject({
      code: "bad_arguments",
    });
  });

  it.each([
    ["task.json", "{}", /task\.json: .*title/s],
    ["labels.csv", "customer_id,churned\n1,0\n", /labels.csv and test.csv have different ids/],
    ["train.csv", "customer_id\n1\n", /train.csv has no column churned/],
    ["test.csv", "customer_id,churned\n1,0\n", /test.csv has the target churned/],
  ])("with a wrong %s are rejected", async (name, text, message) => {
    const place = at(`wrong-${name}`);
    const [task] = generatedTasks();
    if (task !== undefined) await writeTask(place, await task.read());
    writeFileSync(path.join(place, "subscription-churn", name), text);
    const open = tasksIn(place).then(async ([found]) => {
      const read = await found?.read();
      return read === undefined ? null : openTask(read);
    });
    await expect(open).rejects.toMatchObject({
      code: "bad_data",
      message: expect.stringMatching(message) as string,
    });
  });

  it("are rejected for missing columns and tables before one is drawn", async () => {
    const [task] = generatedTasks();
    const place = at("columns");
    if (task !== undefined) await writeTask(place, await task.read());
    const table = (name: string): string => path.join(place, "subscription-churn", name);
    writeFileSync(table("train.csv"), '\uFEFF"customer\nid",left\r\n1,0\r\n');
    await expect(tasksIn(place)).rejects.toThrow(
      /train\.csv has no column churned, as in task\.json; it has customer\nid, left$/,
    );
    rmSync(table("train.csv"));
    await expect(tasksIn(place)).rejects.toThrow(/train\.csv is missing$/);
  });

  it.each([
    [{ classes: ["0", "1", "2"] }, "the metric auc needs two classes, not 3: 0, 1, 2"],
    [{ classes: ["0", "no"] }, "labels.csv has “1”, which is not one of the classes"],
    [{ metric: "rmse" }, "the metric rmse is not for classification"],
    [{ positive: "yes" }, "positive is “yes”, which is not one of the classes"],
  ])("with classes that do not fit the metric or the labels are rejected: %j", async (changes, message) => {
    const task = await generatedTasks()[0]?.read();
    const about = { ...task?.about, ...changes } as TaskFile;
    expect(() => openTask({ ...(task as TaskText), about })).toThrow(message);
  });

  it("need tasks for training and for evaluation", () => {
    const only = generatedTasks().filter(({ split }) => split === "train");
    expect(() => new TaskLibrary(only, "here")).toThrow('here has no task with `"split": "heldOut"`');
  });
});

describe("stratified sampling", () => {
  it("has each type equally often, and every task", () => {
    const listed = Array.from({ length: 7 }, (_, index) => ({
      id: String(index),
      type: index < 5 ? ("regression" as const) : ("classification" as const),
    }));
    const order = stratified(listed).map(({ id }) => id);
    expect(order).toEqual(["0", "5", "1", "6", "2", "5", "3", "6", "4", "5"]);
    const source = sourceFrom(generatedTasks(), "stratified");
    expect(source.size).toBe(2 * 14);
  });
});

function line(id: string): string {
  return `${JSON.stringify({ prompt: `About ${id}`, metadata: { task_id: id } })}\n`;
}

/** Where a copy may be; the test is skipped without. */
function published(name: string): string {
  return path.join(import.meta.dirname, "../../../../../shared/data", `dsbench_modeling_${name}.json`);
}

describe("DSBench", () => {
  const names = {
    titanic: "mushrooms",
    "playground-series-s3e1": "crop-yield",
    "tabular-playground-series-may-2022": "readmission",
  };

  it("is converted with its metrics, baselines and gold; what cannot be is named", async () => {
    const source = at("dsbench");
    writeDsbench(source, { ...names, "lmsys-chatbot-arena": "crop-yield" });
    rmSync(path.join(source, "data/answers/playground-series-s3e1"), { recursive: true });
    const target = at("converted");
    const { written, skipped } = await convertDsbench({ source, target });
    expect(written).toEqual(["tabular-playground-series-may-2022", "titanic"]);
    expect(skipped).toEqual({
      "lmsys-chatbot-arena": "it has several targets, or a metric that Troupe does not have",
      "playground-series-s3e1": "its tables are not there",
    });
    expect(readdirSync(path.join(target, "titanic")).toSorted()).toEqual([
      "labels.csv",
      "task.json",
      "test.csv",
      "train.csv",
    ]);
    const [, titanic] = await tasksIn(target);
    const opened = await titanic?.read();
    expect(opened?.about).toMatchObject({
      metric: "accuracy",
      type: "classification",
      idColumn: "find",
      target: "edible",
      baseline: 0.5,
      gold: 1,
    });
  });

  it("takes descriptions and splits from MAPPA's files", async () => {
    const source = at("described");
    writeDsbench(source, names);
    writeFileSync(at("train.json"), line("titanic"));
    writeFileSync(at("eval.json"), line("playground-series-s3e1"));
    const descriptions = { train: at("train.json"), heldOut: at("eval.json") };
    const { written } = await convertDsbench({ source, target: at("with-splits"), descriptions });
    expect(written).toEqual(["titanic", "playground-series-s3e1"]);
    const found = await tasksIn(at("with-splits"));
    expect(found.map(({ split, type }) => [split, type])).toEqual([
      ["heldOut", "regression"],
      ["train", "classification"],
    ]);
    writeFileSync(at("bad.json"), line("../../etc"));
    await expect(describedIn({ train: at("bad.json") })).rejects.toThrow("cannot be the name of a folder");
  });

  it.runIf(existsSync(published("train")))(
    "has 72 published descriptions, of which most have a known metric",
    async () => {
      const described = await describedIn({ train: published("train"), heldOut: published("eval") });
      expect(described).toHaveLength(72);
      const known = described.filter(({ id }) => dsbenchMetric(id) !== undefined);
      expect(known.length).toBeGreaterThanOrEqual(50);
      for (const { id } of known) expect(metricNames).toContain(dsbenchMetric(id));
      expect(readFileSync(published("eval"), "utf8").trim().split("\n")).toHaveLength(8);
    },
  );
});

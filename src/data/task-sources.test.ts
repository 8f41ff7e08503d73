import fs from "node:fs/promises";
import path from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { CacheLayout } from "./cache.ts";
import type { DatasetOption } from "./dataset.ts";
import { openDataset } from "./open.ts";
import { codeProblem, type CodeProblem } from "./problem.ts";
import { sourceWarnings, taskSources, type ProblemSource } from "./task-sources.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { freshCache } from "./testing/folder.ts";
import { commitOf, startHub } from "./testing/hub-server.ts";
import { humanEvalRow, jsonLines, words, type HumanEvalRow } from "./testing/rows.ts";
import { verifySplit, type RunSolution } from "./verify.ts";

const folder = temporaryFolder();
const rows = Array.from({ length: 10 }, (_, number) => humanEvalRow(number));

function parquet(all: readonly HumanEvalRow[]): Buffer {
  const names = Object.keys(rows[0]!) as (keyof HumanEvalRow)[];
  const column = (name: keyof HumanEvalRow) => ({
    name,
    data: all.map((row) => row[name]),
    type: "STRING" as const,
  });
  return Buffer.from(parquetWriteBuffer({ columnData: names.map(column), rowGroupSize: 4 }));
}

const file = "openai_humaneval/test-00000-of-00001.parquet";
const whole = { contents: parquet(rows) };
const small = (contents: string) => ({ contents: Buffer.from(contents), isLarge: false });
const four = { commit: commitOf("b"), files: { [file]: { contents: parquet(rows.slice(0, 4)) } } };
const converted = { commit: commitOf("c"), files: { "default/test/0000.parquet": whole } };
const hub = await startHub({
  "openai/openai_humaneval": {
    files: { [file]: whole, "README.md": small("# x") },
    revisions: { older: four },
  },
  "owner/script": { files: { "script.py": small("x") }, revisions: { "refs/convert/parquet": converted } },
  "owner/several": {
    files: { "a/test-00000-of-00001.parquet": whole, "b/test.jsonl": { contents: jsonLines(rows) } },
  },
  "OpenMLRL/CoopHumanEval": { files: { "data/train-00000-of-00001.parquet": whole } },
  "livecodebench/code_generation_lite": { files: { "test.jsonl": { contents: jsonLines([]) } } },
});
afterAll(() => hub.close());

let cache: CacheLayout;
beforeEach(() => {
  cache = freshCache(folder);
  hub.seen.length = 0;
  hub.faults.length = 0;
});

function open(dataset: DatasetOption, splits: Record<string, string>, isOffline = false) {
  return taskSources({ dataset, splits, cache, access: { ...hub.access, isOffline } });
}

async function local(name: string, all: readonly object[]): Promise<string> {
  const place = path.join(folder, name);
  await fs.writeFile(place, jsonLines(all));
  return place;
}

/** Of a data set whose only split is this part of its `test`. */
const sizeOf = async (dataset: DatasetOption, slices = "test", isOffline = false) =>
  (await open(dataset, { train: slices }, isOffline))["train"]!.size;

/** The error's message. */
const failed = (opened: Promise<unknown>) =>
  opened.then(
    () => "none",
    (error: Error) => error.message,
  );

const ids = (sources: Record<string, ProblemSource>, split: string) => sources[split]?.ids.join(" ");

describe("a data set of the hub", () => {
  it("is downloaded and sliced, and each problem has its number", async () => {
    const sources = await open("humaneval", { train: "test[3:6]", heldOut: "test[:2]+test[9:]" });
    expect(ids(sources, "train")).toBe("HumanEval/3 HumanEval/4 HumanEval/5");
    expect(ids(sources, "heldOut")).toBe("HumanEval/0 HumanEval/1 HumanEval/9");
    expect(sources["heldOut"]).toMatchObject({ size: 3, rows: [0, 1, 9] });
    expect(await sources["heldOut"]!.at(2)).toMatchObject({ id: "HumanEval/9", entryPoint: "add_9" });
  });

  it("identifies its contents", async () => {
    const { train, heldOut } = await open("humaneval", { train: "test[:5]", heldOut: "test[5:]" });
    expect(train!.origin).toMatchObject({
      dataset: "openai/openai_humaneval",
      commit: commitOf("a"),
      config: "openai_humaneval",
      slices: "test[:5]",
      problems: 5,
      malformed: 0,
      failing: 0,
      excluded: 0,
    });
    expect(Object.keys(train!.origin.files)).toEqual([file]);
    expect(train!.origin.files[file]).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(heldOut!.origin.digest).not.toBe(train!.origin.digest);
    const older = await open({ name: "humaneval", revision: "older" }, { train: "test[:4]" });
    const same = await open("humaneval", { train: "test[:4]" });
    expect(older["train"]!.origin.commit).not.toBe(same["train"]!.origin.commit);
    expect(older["train"]!.origin.digest).toBe(same["train"]!.origin.digest);
  });

  it("requests nothing twice", async () => {
    await open("humaneval", { train: "test" });
    hub.seen.length = 0;
    await open("openai/openai_humaneval", { train: "test[:5]" });
    await open("humaneval", { train: "test[5:]" }, true);
    expect(hub.seen).toEqual([]);
  });

  it("is opened at a revision, by name or commit", async () => {
    for (const revision of ["older", commitOf("b")])
      expect(await sizeOf({ name: "humaneval", revision })).toBe(4);
    await expect(open({ name: "humaneval", revision: "odd" }, { train: "test" })).rejects.toThrow(
      /there is no .*revision\/odd \(Invalid rev id\)/,
    );
  });

  it("is read from the hub's conversion if it is a script", async () => {
    expect(await sizeOf({ name: "owner/script", form: "humaneval" }, "test[:3]")).toBe(3);
  });

  it("whose only split has another name on the hub", async () => {
    expect(await sizeOf("coophumaneval", "test[:7]")).toBe(7);
  });

  it("needs a configuration if there are several", async () => {
    const option = { name: "owner/several", form: "humaneval" };
    await expect(sizeOf(option)).rejects.toThrow(/several configurations; name one .*: a, b/);
    await expect(sizeOf({ ...option, config: "c" })).rejects.toThrow(/no configuration c/);
    expect(await sizeOf({ ...option, config: "b" })).toBe(10);
  });

  it("is not taken for another version if files are missing", async () => {
    await expect(sizeOf("livecodebench")).rejects.toThrow(
      /has no files of livecodebench, configuration release_v6/,
    );
    const name = "livecodebench";
    await expect(sizeOf({ name, config: "release_v1" })).rejects.toThrow(/`test` has no rows: test has 0/);
    await expect(sizeOf({ name, config: "v1" })).rejects.toThrow(/no configuration v1; it has release_v6, /);
  });

  it.each([
    ["humanevil", /there is no data set humanevil; did you mean `humaneval`\?/],
    ["owner/unknown", /the form of owner\/unknown is not known; say with `form`/],
    [{ name: "owner/unknown", form: "humaneval" }, /there is no .*owner\/unknown.*Repository not found/],
    [{ name: "owner/script", form: "humanevil" }, /dataset\.form: there is no humanevil/],
  ])("%j is rejected", async (dataset, problem) => {
    await expect(open(dataset, { train: "test" })).rejects.toThrow(problem);
  });
});

describe("without a network", () => {
  it("the error says what to fetch, from where, and where to put it, where it is then found", async () => {
    const place = path.join(cache.placed, "openai/openai_humaneval");
    const failure = await failed(open("humaneval", { train: "test" }, true));
    expect(failure).toContain(`fetch  ${file}`);
    expect(failure).toContain(`from   ${hub.url}/datasets/openai/openai_humaneval/tree/main`);
    expect(failure).toContain(`into   ${place}\n`);
    await fs.mkdir(path.join(place, path.dirname(file)), { recursive: true });
    await fs.writeFile(path.join(place, file), parquet(rows));
    expect(await sizeOf("humaneval", "test", true)).toBe(10);
    expect(hub.seen).toEqual([]);
  });

  it("accepts the file that OpenAI publishes", async () => {
    const place = path.join(cache.placed, "openai/openai_humaneval");
    await fs.mkdir(place, { recursive: true });
    await fs.writeFile(path.join(place, "HumanEval.jsonl"), jsonLines(rows));
    expect(await sizeOf("humaneval", "test[:4]", true)).toBe(4);
  });

  it("names the address and the place of a file that could not be downloaded", async () => {
    hub.faults.push(({ path: asked }, response) => asked.includes("/resolve/") && response.destroy());
    const failure = await failed(open("humaneval", { train: "test" }));
    expect(failure).toContain("cannot be downloaded: Cannot reach");
    expect(failure).toContain(
      `from   ${hub.url}/datasets/openai/openai_humaneval/resolve/${commitOf("a")}/${file}`,
    );
    expect(failure).toContain(`into   ${path.join(cache.placed, "openai/openai_humaneval", file)}`);
  });

  it("uses the cache", async () => {
    await open("humaneval", { train: "test" });
    expect(await sizeOf("humaneval", "test", true)).toBe(10);
    await fs.rm(cache.problems, { recursive: true });
    expect(await sizeOf("humaneval", "test", true)).toBe(10);
  });
});

describe("malformed rows", () => {
  const repeated = { ...rows[2], task_id: "HumanEval/0" };
  const bad = [rows[0], { ...rows[1], entry_point: undefined }, repeated, 7, rows[4]];

  it("are left out and counted, with their numbers; slices count all rows", async () => {
    const files = await local("bad-test.jsonl", bad as object[]);
    const sources = await open({ files, form: "humaneval" }, { train: "test[:3]", heldOut: "test[3:]" });
    expect(ids(sources, "train")).toBe("HumanEval/0");
    expect(ids(sources, "heldOut")).toBe("HumanEval/4");
    expect(sources["train"]!.malformed).toEqual([
      { split: "test", row: 1, reason: expect.stringContaining("entry_point") as string },
      { split: "test", row: 2, reason: "the id HumanEval/0 is that of row 0, too" },
    ]);
    expect(sources["heldOut"]!.malformed).toMatchObject([{ row: 3, reason: "expected a JSON object" }]);
    expect((await sourceWarnings(sources, "dataset")).map(({ problem }) => problem)).toEqual([
      expect.stringMatching(/^train: 2 of 3 rows are not problems and are skipped \(row 1 of test: /),
      expect.stringMatching(/^heldOut: 1 of 2 rows/),
    ]);
  });

  it("alone are not a data set", async () => {
    const files = await local("none-test.jsonl", [7, 8] as unknown as object[]);
    await expect(open({ files, form: "humaneval" }, { train: "test" })).rejects.toThrow(
      /test of none-test\.jsonl has no usable problem; row 0: expected a JSON object/,
    );
  });

  it("excludes problems by id", async () => {
    const files = await local("some-test.jsonl", rows);
    const exclude = ["HumanEval/1", "HumanEval/8"];
    const sources = await open({ files, form: "humaneval", exclude }, { train: "test[:3]" });
    expect(ids(sources, "train")).toBe("HumanEval/0 HumanEval/2");
    expect(sources["train"]!.excluded).toBe(1);
  });
});

/** As `troupe data verify`, with solutions of odd problems failing. */
async function verify(dataset: DatasetOption, run: RunSolution = oddFail): Promise<void> {
  await verifySplit(await openDataset(dataset, { cache, access: hub.access }), "test", { run, atOnce: 2 });
}

function oddFail({ id }: CodeProblem): Promise<string | null> {
  return Promise.resolve(Number(id.split("/")[1]) % 2 === 1 ? `${id} is odd` : null);
}

describe("problems that fail their own tests", () => {
  const splits = { train: "test[:5]", heldOut: "test[5:]" };

  it("are skipped and counted once `verify` has found them", async () => {
    const before = await open("humaneval", splits);
    expect([before["train"]!.size, before["train"]!.failing]).toEqual([5, []]);
    await verify("humaneval");
    const sources = await open("humaneval", splits);
    expect(ids(sources, "train")).toBe("HumanEval/0 HumanEval/2 HumanEval/4");
    expect(sources["train"]!.failing).toEqual([
      { split: "test", row: 1, id: "HumanEval/1", reason: "HumanEval/1 is odd" },
      { split: "test", row: 3, id: "HumanEval/3", reason: "HumanEval/3 is odd" },
    ]);
    expect(sources["train"]!.origin).toMatchObject({ problems: 3, failing: 2 });
    expect(sources["train"]!.origin.digest).not.toBe(before["train"]!.origin.digest);
    expect((await sourceWarnings(sources, "dataset")).map(({ problem }) => problem)).toEqual([
      "train: 2 of 5 problems fail their own tests and are skipped (row 1 of test, HumanEval/1: HumanEval/1 is odd)",
      "heldOut: 3 of 5 problems fail their own tests and are skipped (row 5 of test, HumanEval/5: HumanEval/5 is odd)",
    ]);
  });

  it("are named if none is left, with the way to keep them", async () => {
    await verify("humaneval");
    await expect(open("humaneval", { train: "test[1:2]+test[3:4]" })).rejects.toThrow(
      /has no usable problem: all 2 fail their own tests, as `troupe data verify DATASET` found \(row 1: HumanEval\/1 is odd\); `failing: keep`/,
    );
  });

  it("are kept if the recipe says so, and are not counted if it excludes them", async () => {
    await verify("humaneval");
    const kept = await open({ name: "humaneval", failing: "keep" }, splits);
    expect([kept["train"]!.size, kept["train"]!.failing]).toEqual([5, []]);
    const excluded = await open({ name: "humaneval", exclude: ["HumanEval/1"] }, splits);
    expect(excluded["train"]!.failing.map(({ id }) => id)).toEqual(["HumanEval/3"]);
    expect(excluded["train"]!.excluded).toBe(1);
  });

  it("are found again in equal files, and not in changed ones", async () => {
    await verify({ files: await local("one-test.jsonl", rows), form: "humaneval" });
    const failingIn = async (all: readonly object[]): Promise<number> => {
      const files = await local("other-test.jsonl", all);
      return (await open({ files, form: "humaneval" }, splits))["train"]!.failing.length;
    };
    expect(await failingIn(rows)).toBe(2);
    const [first, ...others] = rows;
    expect(await failingIn([{ ...first!, canonical_solution: "    return 5\n" }, ...others])).toBe(0);
  });

  it("are forgotten when a later `verify` finds that they pass", async () => {
    await verify("humaneval");
    await verify("humaneval", () => Promise.resolve(null));
    expect((await open("humaneval", splits))["train"]!.size).toBe(5);
  });

  it("are an error if their record cannot be read", async () => {
    await verify("humaneval");
    const [name = ""] = await fs.readdir(cache.solutions);
    await fs.writeFile(path.join(cache.solutions, name), "{");
    await expect(open("humaneval", splits)).rejects.toThrow(
      /is damaged: delete it, and `troupe data verify DATASET` makes it again$/,
    );
  });
});

describe("splits", () => {
  it("must not share or repeat a row", async () => {
    await expect(open("humaneval", { train: "test[:6]", heldOut: "test[5:]" })).rejects.toThrow(
      "splits: rows 5 to 5 of test are in train (test[:6]) and heldOut (test[5:]); no two splits may share a task",
    );
    await expect(open("humaneval", { train: "test[:2]+test[:1]" })).rejects.toThrow(
      /rows 0 to 0 of test are in train .* twice/,
    );
  });

  it("are rejected if invalid", async () => {
    await expect(open("humaneval", { train: "train" })).rejects.toThrow(/has no split train; it has test/);
    await expect(open("humaneval", { train: "test[20:]" })).rejects.toThrow(
      "`test[20:]` has no rows: test has 10",
    );
  });

  it("are rejected if ids of files repeat", async () => {
    const files = { train: await local("one.jsonl", rows), test: await local("two.jsonl", rows) };
    await expect(open({ files, form: "humaneval" }, { train: "train", heldOut: "test" })).rejects.toThrow(
      /two problems have the id HumanEval\/0/,
    );
  });

  it("give a warning if problems are alike", async () => {
    const prompt = rows[1]!.prompt.toUpperCase().replace("DEF ADD_1", "def add_1");
    const copy = { ...rows[1]!, task_id: "Copy/1", prompt };
    const files = {
      train: await local("three.jsonl", rows),
      test: await local("four.jsonl", [copy, humanEvalRow(77)]),
    };
    const sources = await open({ files, form: "humaneval" }, { train: "train", heldOut: "test" });
    expect(await sourceWarnings(sources, "dataset")).toEqual([
      {
        key: "dataset",
        problem:
          "1 of 2 problems of heldOut are in train, too, 1 of them word for word (Copy/1 is the same as HumanEval/1)",
        fix: "leave them out with `exclude`, or cut other slices",
      },
    ]);
  });
});

/** Of the contents of local files. */
async function digestOf(name: string, all: readonly object[]): Promise<string> {
  const sources = await open({ files: await local(name, all), form: "humaneval" }, { train: "test" });
  expect(sources["train"]!.origin).toMatchObject({ dataset: name, commit: null, files: {} });
  return sources["train"]!.origin.digest;
}

describe("local files", () => {
  const own = { prompt: "text", entryPoint: "meta.name", tests: "cases", testKind: "calls" } as const;
  const fields = { ...own, solution: "code" };
  const row = {
    text: "Add.",
    meta: { name: "add" },
    cases: [{ input: [1, 2], output: 3 }],
    code: "def add(a, b): return a + b",
  };

  it("with a mapping of fields", async () => {
    const files = await local("mine.jsonl", [
      row,
      { ...row, text: words(3), cases: '[{"input": [1.0], "output": 10000000000000000001}]' },
    ]);
    const sources = await open({ files, fields }, { train: "train" });
    expect(await sources["train"]!.at(0)).toEqual({
      id: "train/0",
      prompt: "Add.",
      entryPoint: "add",
      tests: { kind: "calls", entryPoint: "add", cases: [{ arguments: "[1,2]", accepted: ["3"] }] },
      solutions: ["def add(a, b): return a + b"],
    });
    expect(codeProblem(await sources["train"]!.at(1)).tests).toMatchObject({
      cases: [{ arguments: "[1.0]", accepted: ["10000000000000000001"] }],
    });
  });

  it("with solutions that continue the prompt's code, as in HumanEval", async () => {
    const text = 'from typing import List\n\n\ndef add(a: int, b: int) -> List[int]:\n    """Add."""';
    const files = await local("continued.jsonl", [
      { ...row, text, code: "    return [a + b]\n" },
      { ...row, text: "Add, please.", code: "    return [a + b]\n" },
    ]);
    const sources = await open({ files, fields }, { train: "train" });
    expect(await sources["train"]!.at(0)).toMatchObject({
      prompt: text,
      preamble: "from typing import List",
      solutions: [`${text}\n    return [a + b]\n`],
    });
    expect(codeProblem(await sources["train"]!.at(1)).solutions).toEqual(["    return [a + b]\n"]);
  });

  it("without solutions, the code before the prompt's function is its preamble, and sentences are none", async () => {
    const signature = 'def add(a: int, b: int) -> List[int]:\n    """Add."""';
    const imports = "from typing import List\n\nZERO: int = 0\n\n\ndef negative(a):\n    return -a";
    const files = await local("unsolved.jsonl", [
      { ...row, text: `${imports}\n\n\n${signature}` },
      { ...row, text: `Add two numbers.\n\n${signature}` },
    ]);
    const { train } = await open({ files, fields: own }, { train: "train" });
    expect(await train!.at(0)).toMatchObject({ preamble: imports, solutions: [] });
    expect(codeProblem(await train!.at(1)).preamble).toBeUndefined();
  });

  const stdin = { kind: "stdin", cases: [{ input: "1\n", output: "2\n" }] };
  const check = "def check(c): assert c(1)";
  const asserts = ["assert add(1) == 1", "assert add(2)"];
  it.each([
    ["stdin", { inputs: ["1\n"], outputs: ["2\n"] }, stdin],
    ["stdin", { input: ["1\n"], output: ["2\n"] }, stdin],
    ["asserts", asserts.join("\n\n"), { kind: "asserts", setup: "", asserts }],
    ["asserts", asserts.slice(1), { kind: "asserts", setup: "", asserts: asserts.slice(1) }],
    ["python-check", check, { kind: "python-check", source: check }],
  ] as const)("tests of the kind %s: %j", async (testKind, cases, tests) => {
    const files = await local(`kind-${testKind}-${typeof cases}-${JSON.stringify(cases).length}.jsonl`, [
      { ...row, cases },
    ]);
    const sources = await open({ files, fields: { ...fields, testKind } }, { train: "train" });
    expect(codeProblem(await sources["train"]!.at(0)).tests).toEqual(tests);
  });

  it.each([
    [
      "a missing field",
      { text: undefined },
      /text: the row has no such field; its fields are meta, cases, code/,
    ],
    ["a field of something that is not an object", { meta: 5 }, /meta\.name: the row has no such field/],
    ["an invalid name", { meta: { name: "a b" } }, /meta\.name: expected the name of a function/],
    ["tests of another form", { cases: [{ in: 1 }] }, /cases: /],
    ["fewer outputs than inputs", { cases: { inputs: [[1]], outputs: [] } }, /1 inputs, 0 outputs/],
    [
      "arguments that are not a list",
      { cases: [{ input: 1, output: 1 }] },
      /the arguments of a call are not a list/,
    ],
  ])("%s", async (title, change, problem) => {
    const files = await local(`${title.replaceAll(" ", "-")}.jsonl`, [{ ...row, ...change }]);
    await expect(open({ files, fields }, { train: "train" })).rejects.toThrow(problem);
  });

  it("reads a folder by its files' names and its card", async () => {
    const place = path.join(folder, "clone");
    await fs.mkdir(path.join(place, "parts"), { recursive: true });
    await fs.writeFile(path.join(place, "parts", "a.jsonl"), jsonLines(rows));
    const card =
      "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: odd\n    path: parts/*\n---\n# Card\n";
    await fs.writeFile(path.join(place, "README.md"), card);
    expect(await sizeOf({ files: place, form: "humaneval" }, "odd[:5]")).toBe(5);
  });

  it("are known by their contents, not by place and time", async () => {
    const [first, ...others] = rows;
    const digest = await digestOf("one-test.jsonl", rows);
    expect(await digestOf("another-test.jsonl", rows)).toBe(digest);
    const changed = { ...first!, test: first!.test.replace("== 1", "== 1.0") };
    expect(changed.test).not.toBe(first!.test);
    expect(await digestOf("one-test.jsonl", [changed, ...others])).not.toBe(digest);
  });

  it("are read again if they changed", async () => {
    const files = await local("changing-test.jsonl", rows);
    expect(await sizeOf({ files, form: "humaneval" })).toBe(10);
    await local("changing-test.jsonl", rows.slice(0, 3));
    expect(await sizeOf({ files, form: "humaneval" })).toBe(3);
  });

  it("are rejected if missing or not data", async () => {
    await expect(open({ files: "missing.jsonl", form: "humaneval" }, { train: "train" })).rejects.toThrow(
      /dataset\.files: there is no file .*missing\.jsonl/,
    );
    await expect(open({ files: await local("mine.jsonl", [row]) }, { train: "train" })).rejects.toThrow(
      /say with `form`/,
    );
  });
});

describe("the cache", () => {
  it("is remade if damaged, or rejected", async () => {
    const sources = await open("humaneval", { train: "test" });
    const [store = ""] = await fs.readdir(cache.problems);
    const data = path.join(cache.problems, store, "problems.zst");
    const bytes = await fs.readFile(data);
    await fs.writeFile(data, bytes.with(20, bytes[20]! ^ 1));
    await expect(sources["train"]!.at(0)).rejects.toThrow(/problems\.zst is damaged: delete /);
    await fs.truncate(data, 7);
    const again = await open("humaneval", { train: "test" }, true);
    expect(await again["train"]!.at(0)).toMatchObject({ id: "HumanEval/0" });
  });

  it("is shared: concurrent users prepare a split once", async () => {
    const [one, other] = await Promise.all([1, 2].map(() => open("humaneval", { a: "test" })));
    expect(await one!["a"]!.at(5)).toEqual(await other!["a"]!.at(5));
    expect(hub.seen.filter(({ origin }) => origin === "storage")).toHaveLength(1);
  });
});

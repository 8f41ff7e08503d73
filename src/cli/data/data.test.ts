/** `troupe data`, with a hub in this process. */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { startHub } from "../../data/testing/hub-server.ts";
import { humanEvalRow, jsonLines } from "../../data/testing/rows.ts";
import { runCommand, troupe, wordsIn, type CommandOptions } from "../testing/command.ts";
import type { Outcome, Words } from "../testing/command.ts";
import { untilDownloaded } from "../testing/downloads.ts";
import { folderWith } from "../testing/folder.ts";

const cwd = folderWith();
const rows = Array.from({ length: 6 }, (_, number) => humanEvalRow(number));
const broken = { ...rows[2]!, canonical_solution: "    return value\n" };
const good = jsonLines([rows[0]!, rows[1]!, { ...rows[3]!, entry_point: 5 }, broken]);
const large = Buffer.concat([
  jsonLines(rows),
  Buffer.from(`{"padding":"${randomBytes(300_000).toString("hex")}"}\n`),
]);
const hub = await startHub({
  "openai/openai_humaneval": { files: { "test.jsonl": { contents: good } } },
  "openmlrl/coophumaneval": { files: { "test.jsonl": { contents: large } } },
  "OpenMLRL/CoopHumanEval": { files: { "test.jsonl": { contents: large } } },
  "owner/gated": { files: { "test.jsonl": { contents: good } }, token: "hf_secret" },
});
afterAll(() => hub.close());

let caches = 0;
let cache = "";
beforeEach(() => {
  cache = path.join(cwd, `cache-${caches++}`);
  hub.faults.length = 0;
  hub.seen.length = 0;
});

function data(
  args: Words,
  options: Partial<CommandOptions> = {},
  start: typeof troupe = runCommand,
): Promise<Outcome> {
  const env = { HF_ENDPOINT: hub.url, TROUPE_CACHE: cache, ...options.env };
  return start(["data", ...wordsIn(args)], { cwd, ...options, env });
}

it("list lists the registered sets and which are in the cache, without network access", async () => {
  const { code, stdout, stderr } = await data("list");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^humaneval +openai_humaneval +mit +test 164 +no$/m);
  expect(stdout).toMatch(/^ +release_v1 +test 400 +no$/m);
  expect(stdout).toContain(`cache: ${cache}`);
  expect(hub.seen).toEqual([]);
  await data("download humaneval");
  const sets = JSON.parse((await data("list --json")).stdout) as { name: string; configs: object[] }[];
  expect(sets.find(({ name }) => name === "humaneval")?.configs).toEqual([
    { config: "openai_humaneval", splits: { test: 164 }, downloaded: true },
  ]);
});

describe("download", () => {
  it("fills the cache and counts rows", async () => {
    const { code, stdout } = await data("download humaneval");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^openai\/openai_humaneval at aaaaaaaaaaaa, openai_humaneval, in /);
    expect(stdout).toContain("  test  1 MB  4 rows, 1 of them malformed and skipped\n");
    expect(stdout).toContain("data verify humaneval` lists malformed rows");
  });

  it("says when it is interrupted, and resumes", async () => {
    const half = large.length >> 1;
    hub.faults.push((request, response) => {
      if (request.origin !== "storage") return false;
      response.writeHead(200, { "content-length": large.length });
      response.write(large.subarray(0, half));
      return true;
    });
    const interruptAfter = untilDownloaded(cache, half);
    const interrupted = await data("download coophumaneval", { interruptAfter }, troupe);
    expect(interrupted).toMatchObject({ code: 130, stdout: "" });
    expect(interrupted.stderr).toContain("stopping; the same command resumes the download");
    hub.seen.length = 0;
    hub.faults.length = 0;
    expect((await data("download coophumaneval")).code).toBe(0);
    expect(hub.seen.find(({ origin }) => origin === "storage")?.range).toBe(`bytes=${half}-`);
  });

  it("needs the token for a gated set, and stores it nowhere", async () => {
    const args = ["download", "owner/gated", "--form", "humaneval"];
    const denied = await data(args);
    expect(denied.code).toBe(1);
    expect(denied.stderr).toContain("HF_TOKEN");
    const opened = await data(args, { env: { HF_TOKEN: "hf_secret", TROUPE_DEBUG: "1" } });
    expect(opened.code).toBe(0);
    const wrong = await data(args, { env: { HF_TOKEN: "hf_other", TROUPE_DEBUG: "1" } });
    expect(wrong.code).toBe(1);
    expect(`${opened.stdout}${opened.stderr}${wrong.stdout}${wrong.stderr}`).not.toMatch(/hf_(secret|other)/);
    const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(2);
    for (const { parentPath, name } of files)
      expect(readFileSync(path.join(parentPath, name)).includes("hf_secret")).toBe(false);
  });
});

describe("show", () => {
  it("describes a registered set without a network", async () => {
    const { code, stdout } = await data("show mbpp", { env: { HF_HUB_OFFLINE: "1" } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^licence +cc-by-4\.0$/m);
    expect(stdout).toMatch(/^sanitized +test +257$/m);
  });

  it("prints problems without their control characters", async () => {
    const hostile = { ...rows[0]!, prompt: `${rows[0]!.prompt}\u001b[2J\r# end` };
    const file = path.join(cwd, "hostile-test.jsonl");
    await writeFile(file, jsonLines([hostile]));
    const { stdout } = await data(["show", file, "test", "--form", "humaneval"]);
    expect(stdout).toMatch(
      /── row 0: HumanEval\/0 ──\nfunction add_0, 2 assertions in check\(\), 1 solutions\n/,
    );
    expect(stdout).not.toContain("\u001b");
    const json = await data(["show", file, "test[:1]", "--form", "humaneval", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ id: "HumanEval/0", entryPoint: "add_0" });
  });

  it("maps named fields", async () => {
    const file = path.join(cwd, "own.jsonl");
    await writeFile(file, jsonLines([{ q: "Add.", f: "add", t: "assert add(1) == 2" }]));
    const fields = ["prompt=q", "entryPoint=f", "tests=t", "testKind=asserts"].flatMap((pair) => [
      "--field",
      pair,
    ]);
    const { code, stdout } = await data(["show", file, "train", ...fields]);
    expect(code).toBe(0);
    expect(stdout).toContain("function add, 1 asserts, 0 solutions\n\nAdd.\n");
    const wrong = await data(["show", file, "train", "--field", "promt=q"]);
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain("the keys are id, prompt, entryPoint, tests, testKind");
  });
});

describe("verify", () => {
  it("lists malformed rows and solutions that fail, and sets the exit code", async () => {
    const { code, stdout, stderr } = await data("verify humaneval");
    expect({ code, stderr: stderr.replace(/^test\.jsonl .*\n/, "") }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toContain(
      "test: 4 rows, expected 164, 3 problems, 1 malformed, 2 solutions pass, 1 fail, 0 problems have none\n",
    );
    expect(stdout).toMatch(/^ +row 2 is malformed: entry_point: /m);
    expect(stdout).toMatch(/^ +row 3 \(HumanEval\/2\) fails its own tests: assert add_2\(1\) == 3: /m);
    expect(stdout).toContain('  exclude: ["HumanEval/2"]\n');
  });

  it("finds problems that are also in another set", async () => {
    const [own, other] = [path.join(cwd, "own-train.jsonl"), path.join(cwd, "other-test.jsonl")];
    await writeFile(own, jsonLines(rows.slice(0, 4)));
    await writeFile(other, jsonLines([{ ...rows[1]!, task_id: "Other/1" }, humanEvalRow(50)]));
    const against = ["--form", "humaneval", "--no-run", "--against", `${other}:test`];
    const found = await data(["verify", own, ...against]);
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(
      /^1 of 2 problems of other-test\.jsonl test are in own-train\.jsonl train, 1 word for word:$/m,
    );
    expect(found.stdout).toMatch(/^ +Other\/1 is HumanEval\/1$/m);
    await writeFile(other, jsonLines([humanEvalRow(50)]));
    const clean = await data(["verify", own, ...against]);
    expect(clean).toMatchObject({ code: 0, stderr: "" });
    expect(clean.stdout).toMatch(/share no problem$/m);
  });

  it("finds changes of the cache", async () => {
    await data("download coophumaneval");
    const [name = ""] = readdirSync(path.join(cache, "data", "blobs"));
    const file = path.join(cache, "data", "blobs", name);
    const bytes = readFileSync(file);
    await writeFile(file, bytes.with(9, bytes[9]! ^ 1));
    const { code, stdout } = await data("verify coophumaneval --no-run --json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ splits: [{ split: "test", damagedFiles: [file] }] });
  });
});

describe("mistakes", () => {
  it.each([
    ["show humanevil", /there is no data set humanevil; did you mean `humaneval`\?/],
    ["show humaneval test[5]", /test\[5\] is not a slice; expected a split or a part of one/],
    ["show humaneval tset", /has no split tset; did you mean `test`\?/],
    ["show humaneval test --revision ../x", /expected a branch, a tag or a commit/],
    ["download humaneval train", /has no split train; it has test/],
    ["show ./missing.jsonl test --form humaneval", /there is no file .*missing\.jsonl/],
    ["verify ./x.jsonl --config y", /--config and --revision are for the hub's data sets/],
    ["show missing.jsonl test --form humaneval", /there is no file .*missing\.jsonl/],
    ["show ./x.jsonl --field promt=text", /--field promt: unknown key; did you mean `prompt`\?; the keys/],
    ["show ./x.jsonl --field prompt=text", /--field tests is missing: tests=NAME; the keys are id, prompt,/],
    [
      "show ./x.jsonl --field prompt=a --field tests=b --field testKind=assert",
      /--field testKind: expected one of python-check, asserts, stdin, calls; the keys/,
    ],
    ["dowload humaneval", /unknown command 'dowload'/],
  ])("%s", async (line, problem) => {
    const { code, stderr } = await data(line);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(problem);
    expect(stderr).not.toContain("This is a bug");
  });

  it("rejects an invalid endpoint or token", async () => {
    expect((await data("list", { env: { HF_ENDPOINT: "http://user:pass@host" } })).stderr).toBe(
      "error: HF_ENDPOINT: expected a URL without user name or password, such as https://huggingface.co\n",
    );
    const token = await data("list", { env: { HF_TOKEN: "hf_a\nb" } });
    expect(token.stderr).toMatch(/^error: HF_TOKEN: expected a token/);
    expect(token.stderr).not.toContain("hf_a");
  });

  it("says without a network what to fetch, from where, and where to put it", async () => {
    const { code, stderr } = await data("download mbpp", { env: { HF_HUB_OFFLINE: "1" } });
    expect(code).toBe(1);
    expect(stderr).toContain(
      "fetch  full/train-00000-of-00001.parquet, full/validation-00000-of-00001.parquet",
    );
    expect(stderr).toContain(`into   ${path.join(cache, "data/placed/google-research-datasets/mbpp")}\n`);
  });
});

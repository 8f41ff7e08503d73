import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../errors.ts";
import { folderFiles } from "../files/folder.ts";
import { hashOfBytes } from "../files/store.ts";
import { unrecordedCalls } from "../calls/recorded.ts";
import { openRecordedCalls, readRecordedCalls } from "../runs/recorded-calls.ts";
import { cachedSandbox, digestOf } from "./cached.ts";
import { lazySandbox } from "./lazy.ts";
import { cancelledResult, type Program, type ProgramResult, type Sandbox } from "./sandbox.ts";
import { python } from "./testing.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-cached-"));
afterAll(() => rmSync(folder, { recursive: true }));

let ran: Program[] = [];
beforeEach(() => {
  ran = [];
});

const result: ProgramResult = {
  ...cancelledResult(),
  ended: "exited",
  exitCode: 0,
  files: { "a.bin": Uint8Array.of(0, 255) },
};

type Rest = Parameters<typeof cachedSandbox> extends readonly [unknown, ...infer Others] ? Others : never;

/** Counts runs; `answer` gives the result of a program. */
function counting(answer: (program: Program) => Promise<ProgramResult>): Sandbox {
  return {
    backend: "counting",
    run(program) {
      ran.push(program);
      return answer(program);
    },
    start: () => Promise.reject(new Error("no sessions")),
    close: async () => {},
  };
}

function cached(answer: (program: Program) => Promise<ProgramResult>, ...rest: Rest): Sandbox {
  return cachedSandbox(counting(answer), ...rest);
}

const never = (): Promise<never> => Promise.reject(new Error("it is recorded"));

describe("a cached sandbox", () => {
  it("runs a program once, also for later processes and for readers", async () => {
    const file = path.join(folder, "programs.jsonl");
    const files = folderFiles(path.join(folder, "files"));
    const first = cached(async () => result, await openRecordedCalls(file), files);
    expect(await first.run(python("a"))).toEqual(result);
    expect(await first.run(python("a"))).toEqual(result);
    await first.run(python("a", { stdin: "1" }));
    expect(ran).toHaveLength(2);
    for (const calls of [await openRecordedCalls(file), await readRecordedCalls(file)]) {
      const later = cached(async () => result, calls, files);
      expect(await later.run(python("a"))).toEqual(result);
    }
    expect(ran).toHaveLength(2);
  });

  it("records long outputs by the hash of their text, so that memory stays flat", async () => {
    const file = path.join(folder, "long.jsonl");
    const place = path.join(folder, "long");
    const long = { ...result, stdout: `é${"x".repeat(60_000)}`, stderr: "\ud800".repeat(3000) };
    const sandbox = cached(async () => long, await openRecordedCalls(file), folderFiles(place));
    expect(await sandbox.run(python("a"))).toEqual(long);
    const [line] = readFileSync(file, "utf8").trim().split("\n");
    expect(JSON.parse(line ?? "")).toMatchObject({
      answer: { stdout: { hash: hashOfBytes(Buffer.from(long.stdout)), size: 60_002 }, stderr: long.stderr },
    });
    const later = cachedSandbox(
      { ...sandbox, run: never },
      await readRecordedCalls(file),
      folderFiles(place),
    );
    expect(await later.run(python("a"))).toEqual(long);
  });

  it("records files by the hash of their contents, which are stored once", async () => {
    const file = path.join(folder, "by-hash.jsonl");
    const place = path.join(folder, "by-hash");
    const bytes = Uint8Array.from({ length: 5000 }, (_, index) => index % 251);
    const twice = { ...result, files: { "a.bin": bytes, "b.bin": bytes } };
    const sandbox = cached(async () => twice, await openRecordedCalls(file), folderFiles(place));
    expect(await sandbox.run(python("a"))).toEqual(twice);
    const reference = { hash: hashOfBytes(bytes), size: 5000 };
    const [line = ""] = readFileSync(file, "utf8").split("\n");
    expect(JSON.parse(line)).toMatchObject({ answer: { files: { "a.bin": reference, "b.bin": reference } } });
    expect(readdirSync(place, { recursive: true })).toHaveLength(2);
  });

  it("reads records that contain the files themselves", async () => {
    const calls = unrecordedCalls();
    const answer = { ...result, files: { "a.bin": "AP8=" } };
    await calls.put([{ key: digestOf(python("old")), answer }]);
    const sandbox = cached(never, calls);
    expect(await sandbox.run(python("old"))).toEqual(result);
  });

  it("tells programs with packages from the same without", () => {
    const plain = digestOf(python("a"));
    expect(digestOf(python("a", { packages: "data-science" }))).not.toBe(plain);
  });

  it("shares a run in progress, but neither its cancellation nor its failure", async () => {
    const release: ((result: ProgramResult) => void)[] = [];
    const slow = counting(() => new Promise((resolve) => release.push(resolve)));
    const sandbox = cachedSandbox(slow, unrecordedCalls());
    const [one, other] = [sandbox.run(python("a")), sandbox.run(python("a"))];
    expect(ran).toHaveLength(1);
    release[0]?.(cancelledResult());
    expect((await one).ended).toBe("cancelled");
    await expect.poll(() => release.length).toBe(2);
    release[1]?.(result);
    expect(await other).toEqual(result);
    let fails = true;
    const failing = counting(async () => {
      if (!fails) return result;
      fails = false;
      throw new ServiceError("gone");
    });
    const second = cachedSandbox(failing, unrecordedCalls());
    const both = await Promise.allSettled([second.run(python("a")), second.run(python("a"))]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  });

  it("cancels one caller while the other keeps waiting", async () => {
    const release: ((result: ProgramResult) => void)[] = [];
    const slow = counting(() => new Promise((resolve) => release.push(resolve)));
    const sandbox = cachedSandbox(slow, unrecordedCalls());
    const controller = new AbortController();
    const [one, other] = [sandbox.run(python("a")), sandbox.run(python("a"), controller.signal)];
    controller.abort();
    expect((await other).ended).toBe("cancelled");
    release[0]?.(result);
    expect(await one).toEqual(result);
  });

  it("records every ending except a cancelled one", async () => {
    for (const ended of ["wall-time", "memory", "signalled"] as const) {
      const sandbox = cached(async () => ({ ...result, ended }), unrecordedCalls());
      await sandbox.run(python(ended));
      await sandbox.run(python(ended));
    }
    expect(ran).toHaveLength(3);
    const cancelled = cached(async () => cancelledResult(), unrecordedCalls());
    await cancelled.run(python("a"));
    await cancelled.run(python("a"));
    expect(ran).toHaveLength(5);
  });

  it("rejects a damaged record", async () => {
    const file = path.join(folder, "damaged.jsonl");
    writeFileSync(file, `${JSON.stringify({ key: digestOf(python("a")), answer: { ended: 1 } })}\n`);
    const sandbox = cached(async () => result, await readRecordedCalls(file));
    await expect(sandbox.run(python("a"))).rejects.toThrow("damaged");
    expect(readFileSync(file, "utf8")).not.toBe("");
  });
});

const normal = (program: Program): unknown => {
  const { arguments: given = [], files = {}, outputs = [], stdin = "", limits } = program;
  const named = Object.entries(files).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return [program.source, given, named, outputs, stdin, limits?.cpuSeconds ?? 10];
};

describe("the digest", () => {
  const anyProgram = fc.record(
    {
      language: fc.constant("python" as const),
      source: fc.string(),
      stdin: fc.string(),
      arguments: fc.array(fc.string(), { maxLength: 2 }),
      files: fc.dictionary(fc.constantFrom("a", "b"), fc.string()),
      outputs: fc.array(fc.constantFrom("x", "y"), { maxLength: 2 }),
      limits: fc.record({ cpuSeconds: fc.integer({ min: 1, max: 3 }) }, { requiredKeys: [] }),
    },
    { requiredKeys: ["language", "source"] },
  );
  it("differs exactly if programs do", () => {
    fc.assert(
      fc.property(anyProgram, anyProgram, (one, other) => {
        const same = JSON.stringify(normal(one)) === JSON.stringify(normal(other));
        expect(digestOf(one) === digestOf(other)).toBe(same);
      }),
    );
  });

  it("separates parts unambiguously", () => {
    const digests = [
      python("ab"),
      python("a", { stdin: "b" }),
      python("", { stdin: "ab" }),
      python("a", { files: { b: "" } }),
      python("a", { arguments: ["b"] }),
    ].map(digestOf);
    expect(new Set(digests).size).toBe(digests.length);
  });
});

describe("a lazy sandbox", () => {
  it("is opened by the first program, once, and reported before it runs", async () => {
    const events: string[] = [];
    const sandbox = lazySandbox(
      async () => {
        events.push("opened");
        return counting(async () => result);
      },
      async ({ backend }) => {
        events.push(`noted ${backend}, ${ran.length} ran`);
      },
    );
    expect(sandbox.backend).toBe("not opened yet");
    await Promise.all([sandbox.run(python("a")), sandbox.run(python("b"))]);
    expect(events).toEqual(["opened", "noted counting, 0 ran"]);
    expect(sandbox.backend).toBe("counting");
  });

  it("is not opened only to be closed", async () => {
    const sandbox = lazySandbox(() => Promise.reject(new Error("opened")));
    await sandbox.close();
    await expect(sandbox.run(python("a"))).rejects.toThrow("opened");
    await sandbox.close();
  });
});

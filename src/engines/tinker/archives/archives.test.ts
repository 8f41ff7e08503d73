import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failure, makeModel, temporaryFolder } from "../../../models/test-model.ts";
import { atEndOfFile } from "../../../test-end.ts";
import { adam, someDatum, testEngine } from "../../local/test-engine.ts";
import { profiles } from "../profiles.ts";
import { readLocation } from "../saving.ts";
import { localServer } from "../testing/own-server.ts";
import { TinkerEngine } from "../tinker-engine.ts";
import { extractTar, tarOf } from "./archive.ts";
import { downloadCheckpoint } from "./download.ts";

const folder = temporaryFolder();
let count = 0;

function fresh(): string {
  const place = join(folder, `place-${(count += 1)}`);
  mkdirSync(place);
  return place;
}

async function bytesOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

async function* cut(whole: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length; at += length) yield whole.subarray(at, at + length);
}

/** A header with another name and type, whose checksum is right. */
function changed(header: Buffer, name: string, type: string, size?: string): Buffer {
  const copy = Buffer.from(header);
  copy.write(`${name}\0`, 0);
  copy.write(type, 156);
  if (size !== undefined) copy.write(size, 124);
  copy.fill(" ", 148, 156);
  const sum = copy.reduce((total, byte) => total + byte, 0);
  copy.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return copy;
}

describe("archives", () => {
  it("hold a directory's files, however they arrive", async () => {
    const contents = fc.uint8Array({ maxLength: 1500 });
    const names = fc.stringMatching(/^[a-z]{1,8}(\/[a-z]{1,8})?\.txt$/);
    const files = fc.uniqueArray(fc.tuple(names, contents), { selector: ([name]) => name, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 100, max: 3000 }), async (all, length) => {
        const [from, to] = [fresh(), fresh()];
        for (const [name, bytes] of all) {
          mkdirSync(join(from, name, ".."), { recursive: true });
          writeFileSync(join(from, name), bytes);
        }
        await extractTar(cut(await bytesOf(tarOf(from)), length), to);
        for (const [name, bytes] of all) expect(new Uint8Array(readFileSync(join(to, name)))).toEqual(bytes);
      }),
      { numRuns: 20 },
    );
  });

  it("are read by tar, and those of tar are read", async () => {
    const [from, to] = [fresh(), fresh()];
    const long = `${"n".repeat(120)}.txt`;
    for (const name of ["a.txt", long]) writeFileSync(join(from, name), name);
    expect(spawnSync("tar", ["-xf", "-", "-C", to], { input: await bytesOf(tarOf(from)) }).status).toBe(0);
    for (const format of ["pax", "gnu"]) {
      const back = fresh();
      const { stdout } = spawnSync("tar", ["-cf", "-", `--format=${format}`, "-C", to, "."]);
      await extractTar(cut(stdout, 1000), back);
      for (const name of ["a.txt", long]) expect(readFileSync(join(back, name), "utf8")).toBe(name);
    }
  });

  it("hold both of two hard-linked files", async () => {
    for (const length of [0, 5, 100_000]) {
      const [from, to] = [fresh(), fresh()];
      writeFileSync(join(from, "a"), "x".repeat(length));
      linkSync(join(from, "a"), join(from, "b"));
      await extractTar(cut(await bytesOf(tarOf(from)), 1000), to);
      for (const name of ["a", "b"]) expect(readFileSync(join(to, name)).length).toBe(length);
    }
  });

  it("with a file that is not whole are rejected", async () => {
    const from = fresh();
    writeFileSync(join(from, "aa"), Buffer.alloc(2 ** 20));
    truncateSync(join(from, "aa"), 2 ** 21);
    const { stdout } = spawnSync("tar", ["-cSf", "-", "--format=pax", "-C", from, "aa"]);
    const sparse = () => extractTar(cut(stdout, 512), fresh());
    expect(await failure("bad_model", sparse)).toContain("not a plain file");
  });

  it("with names that lead elsewhere, links, devices, a file twice or a missing end are rejected", async () => {
    const from = fresh();
    writeFileSync(join(from, "aa"), "x");
    const good = await bytesOf(tarOf(from));
    const [header, body] = [good.subarray(0, 512), good.subarray(512)];
    const as = (name: string, type = "0"): Buffer => Buffer.concat([changed(header, name, type), body]);
    const empty = (name: string, type = "0"): Buffer => changed(header, name, type, "00000000000");
    const both = [empty("aa"), empty("aa/b")];
    for (const [expected, ...bad] of [
      ["leads elsewhere", as("../b")],
      ["leads elsewhere", as("/b")],
      ["leads elsewhere", as("c/./b")],
      ["leads elsewhere", as("c\\..\\b")],
      ["leads elsewhere", as("c:b")],
      ...["1", "2", "3", "4", "6"].map((type) => ["not a plain file", empty("aa", type)] as const),
      ["truncated", good.subarray(0, 600)],
      ["truncated", good.subarray(0, 1024)],
      ["checksum", Buffer.from(good).fill("b", 0, 2)],
      ["twice", good.subarray(0, 1024), as("./aa")],
      ["more than 10000 entries", ...Array<Buffer>(10_001).fill(empty("aa", "5"))],
      ["is a file and a folder", ...both],
      ["is a file and a folder", ...both.toReversed()],
    ] as [string, ...Buffer[]][]) {
      const to = fresh();
      const extract = () => extractTar(cut(Buffer.concat(bad), 4096), to);
      expect(await failure("bad_model", extract)).toContain(expected);
      expect(readdirSync(to).filter((name) => name !== "aa")).toEqual([]);
    }
  });
});

/** A server of one kind of answer. */
async function serving(
  answer: (response: ServerResponse, request: IncomingMessage) => unknown,
): Promise<{ url: string }> {
  const server = createServer((request, response) => void answer(response, request));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  atEndOfFile(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe("saved weights", async () => {
  const model = await makeModel(folder, "tiny");
  const url = await localServer(model, join(folder, "served"));
  const remote = new TinkerEngine({ url, profile: profiles.troupe });
  atEndOfFile(() => remote.close());

  it.each([
    ["whole models", {}],
    ["adapters", { adapter: { rank: 2, alpha: 8, targetModules: ["q_proj"], seed: 1 } }],
  ])("are downloaded as directories of the local engine: %s", async (name, options) => {
    await remote.createPolicy({ name, model, ...options });
    await remote.forwardBackward([someDatum(name)], { type: "importance_sampling" });
    await remote.optimStep(name, adam);
    const { path } = readLocation(await remote.checkpoint(name, { folder, name: "saved" }));
    const directory = join(folder, `downloaded ${name}`);
    await downloadCheckpoint({ url }, path, directory);
    const local = testEngine({ threads: 1 });
    await local.createPolicy({ name, model: directory });
    // A server's `forward` has a loss; the local engine's measures none.
    const measured = await remote.forward([someDatum(name)]);
    expect(await local.forward([someDatum(name)])).toEqual({ ...measured, loss: 0 });
    const again = () => downloadCheckpoint({ url }, path, directory);
    expect(await failure("bad_arguments", again)).toContain("exists");
  });

  it("that do not exist leave no directory", async () => {
    const directory = join(folder, "none");
    const path = "tinker://nobody/weights/x";
    await expect(downloadCheckpoint({ url }, path, directory)).rejects.toThrow(/no saved weights/);
    expect(readdirSync(folder)).not.toContain("none");
  });
});

it("a compressed archive is read, and the key is not sent to where it is", async () => {
  const from = fresh();
  writeFileSync(join(from, "a.txt"), "one");
  const archive = gzipSync(await bytesOf(tarOf(from)));
  const seen: unknown[] = [];
  const files = await serving((response, { headers }) => {
    seen.push(headers["x-api-key"]);
    response.end(archive);
  });
  const service = await serving((response, { headers }) => {
    seen.push(headers["x-api-key"]);
    response.writeHead(302, { location: `${files.url}/file` }).end();
  });
  const directory = join(folder, "compressed");
  await downloadCheckpoint({ ...service, key: "tml-secret" }, "tinker://run/weights/a", directory);
  expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("one");
  expect(seen).toEqual(["tml-secret", undefined]);
});

it.each<readonly [string, (response: ServerResponse) => unknown]>([
  [
    "breaks off",
    (response) => response.writeHead(200, { "content-length": 9999 }).write(Buffer.alloc(512, 97)),
  ],
  ["is damaged", (response) => response.end(Buffer.from([0x1f, 0x8b, ...Buffer.alloc(600, 7)]))],
  ["has no files", (response) => response.end(Buffer.alloc(1024))],
  ["is elsewhere, which is no address", (response) => response.writeHead(302, { location: "http://" }).end()],
])("an archive that %s is the server's failure, and leaves nothing", async (_, answer) => {
  const server = await serving((response) => {
    answer(response);
    setTimeout(() => response.destroy(), 100);
  });
  const into = fresh();
  const download = downloadCheckpoint(server, "tinker://run/weights/a", join(into, "weights"));
  await expect(download).rejects.toMatchObject({ code: expect.stringMatching(/service|bad_model/) });
  expect(readdirSync(into)).toEqual([]);
});

/** A server whose archive is the start, and then the rest until nobody reads it any more. */
async function endless(start: Buffer, rest: Buffer) {
  const ended = Promise.withResolvers<void>();
  let sent = 0;
  const { url } = await serving((response) => {
    response.once("close", ended.resolve);
    const go = (): void => {
      while (!response.destroyed && response.write(rest)) sent += rest.length;
    };
    response.on("drain", go);
    response.write(start);
    go();
  });
  return { url, ended: ended.promise, sent: () => sent };
}

describe("an archive without an end", async () => {
  const from = fresh();
  writeFileSync(join(from, "weights"), "");
  const empty = (await bytesOf(tarOf(from))).subarray(0, 512);
  const header = changed(empty, "weights", "0", "77777777777"); // the most that the field holds: 8 GB
  const zeros = Buffer.alloc(2 ** 24);

  it.each([
    ["is bounded by the size of the weights", header, zeros, "more than 1 MB"],
    ["in gzip is bounded by what was received", gzipSync(header), gzipSync(zeros), "not one of weights"],
    [
      "in zstd too",
      zstdCompressSync(Buffer.concat([header, Buffer.alloc(2 ** 27)])),
      zeros,
      "not one of weights",
    ],
    ["twice in gzip too", gzipSync(gzipSync(header)), gzipSync(gzipSync(zeros)), "not one of weights"],
  ])("%s", async (_, start, rest, expected) => {
    const server = await endless(start, rest);
    const into = fresh();
    const options = start === header ? { mostBytes: 1e6 } : {};
    const download = () => downloadCheckpoint(server, "tinker://r/weights/a", join(into, "w"), options);
    expect(await failure("bad_model", download)).toContain(expected);
    await server.ended;
    expect(server.sent()).toBeLessThan(2 ** 28);
    expect(readdirSync(into)).toEqual([]);
  });

  it("of a rejection is not read to it", async () => {
    const text = Buffer.alloc(2 ** 16, "x");
    const server = await serving((response) => {
      response.writeHead(500);
      const go = (): void => {
        while (!response.destroyed && response.write(text));
      };
      response.on("drain", go);
      go();
    });
    const download = () => downloadCheckpoint(server, "tinker://r/weights/a", join(fresh(), "w"));
    expect(await failure("service", download)).toMatch(/HTTP 500\): x{300}$/);
  });
});

import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import path from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { blobFile, type CacheLayout } from "../cache.ts";
import { temporaryFolder } from "../../models/test-model.ts";
import { freshCache } from "../testing/folder.ts";
import { commitOf, sendFile, sha256, startHub, testAccess, type Fault } from "../testing/hub-server.ts";
import { downloadFile, type Transfer } from "./download.ts";
import { listFiles } from "./listing.ts";

const folder = temporaryFolder();
const contents = randomBytes(300_000);
const small = Buffer.from("small\n");
const hub = await startHub({
  "owner/open": {
    files: { "data/train.jsonl": { contents }, "small.jsonl": { contents: small, isLarge: false } },
  },
  "owner/gated": { files: { "train.jsonl": { contents } }, token: "hf_right" },
});
afterAll(() => hub.close());

let cache: CacheLayout;
beforeEach(() => {
  cache = freshCache(folder);
  hub.faults.length = 0;
  hub.seen.length = 0;
});

async function download(
  name = "owner/open",
  file = "data/train.jsonl",
  { access = hub.access, ...options }: Partial<Transfer> = {},
): Promise<Buffer> {
  const listing = await listFiles(access, name, "main");
  const found = listing.files.find((each) => each.path === file)!;
  const transfer = { cache, access, ...options };
  return fs.readFile(await downloadFile({ dataset: name, commit: listing.commit, file: found }, transfer));
}

/** The storage fails this many times. */
function onStorage(times: number, fault: Fault): void {
  let left = times;
  hub.faults.push(
    (request, response, raw) => request.origin === "storage" && left-- > 0 && fault(request, response, raw),
  );
}

const fromStorage = () => hub.seen.filter(({ origin }) => origin === "storage");

/** Sends part of the announced bytes, then cuts the connection. */
const breakAfter =
  (bytes: number): Fault =>
  ({ range }, response) => {
    const from = Number(/(\d+)/.exec(range ?? "0")?.[0]);
    const rest = contents.subarray(from);
    const ranged =
      range === undefined
        ? {}
        : { "content-range": `bytes ${from}-${contents.length - 1}/${contents.length}` };
    response.writeHead(range === undefined ? 200 : 206, { "content-length": rest.length, ...ranged });
    response.write(rest.subarray(0, bytes), () => response.destroy());
    return true;
  };

const everythingKept = async (): Promise<string[]> => {
  const names = await fs
    .readdir(path.dirname(cache.blobs), { recursive: true, withFileTypes: true })
    .catch(() => []);
  return names.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
};

describe("a download", () => {
  it("follows the redirect, checks the contents, and is stored under its checksum", async () => {
    expect(await download()).toEqual(contents);
    expect(await everythingKept()).toEqual([path.join(cache.blobs, `sha256-${sha256(contents)}`)]);
    hub.seen.length = 0;
    expect(await download()).toEqual(contents);
    expect(fromStorage()).toEqual([]);
  });

  it("checks small files by the checksum of git", async () => {
    expect(await download("owner/open", "small.jsonl")).toEqual(small);
  });

  it("requests the rest if a connection breaks, as often as bytes arrive", async () => {
    onStorage(20, breakAfter(10_000));
    expect(await download()).toEqual(contents);
    const ranges = fromStorage().map(({ range }) => range);
    expect(ranges[0]).toBeUndefined();
    expect(ranges.length).toBeGreaterThan(4);
    const starts = ranges.slice(1).map((range) => Number(/\d+/.exec(range ?? "")?.[0]));
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(starts[0]).toBeGreaterThan(0);
  });

  it("gives up if tries bring nothing, and keeps what it has", async () => {
    onStorage(1, breakAfter(50_000));
    onStorage(100, (_, response) => response.destroy());
    await expect(download()).rejects.toThrow(/Cannot reach http:\/\/127\.0\.0\.1/);
    expect(await everythingKept()).toHaveLength(1);
    hub.faults.length = 0;
    hub.seen.length = 0;
    expect(await download()).toEqual(contents);
    expect(fromStorage().map(({ range }) => range)).toEqual([
      expect.stringMatching(/^bytes=[1-9]\d*-$/) as string,
    ]);
  });

  it("resumes after a cancellation", async () => {
    const controller = new AbortController();
    onStorage(1, (_, response) => {
      response.writeHead(200, { "content-length": contents.length });
      response.write(contents.subarray(0, 100_000));
    });
    const progress = (): void => controller.abort();
    const cancelled = download(undefined, undefined, { signal: controller.signal, progress });
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    expect(await download()).toEqual(contents);
    expect(fromStorage().at(-1)?.range).toMatch(/^bytes=[1-9]\d*-$/);
    expect(await everythingKept()).toHaveLength(1);
  });

  it("starts over if the server does not resume", async () => {
    onStorage(1, breakAfter(50_000));
    onStorage(100, (request, response) => sendFile(contents, { ...request, range: undefined }, response));
    expect(await download()).toEqual(contents);
  });

  it.each(["bytes 7-9/300000", "bytes 0-299999/300000", "nonsense", ""])(
    "starts over if the server resumes at another position: %j",
    async (range) => {
      onStorage(1, breakAfter(50_000));
      onStorage(1, (_, response) =>
        response.writeHead(206, range === "" ? {} : { "content-range": range }).end(contents.subarray(7)),
      );
      expect(await download()).toEqual(contents);
    },
  );

  it("a server that falls silent counts as broken", async () => {
    onStorage(1, (_, response) => {
      response.writeHead(200, { "content-length": contents.length });
      response.write(contents.subarray(0, 1000));
    });
    const access = { ...hub.access, longestSilence: 200 };
    expect(await download(undefined, undefined, { access })).toEqual(contents);
  });

  it("concurrent downloads fetch a file once", async () => {
    const [one, other] = await Promise.all([download(), download()]);
    expect(one).toEqual(other);
    expect(fromStorage()).toHaveLength(1);
  });

  it("finishes the download of a process that was killed", async () => {
    const work = path.join(cache.downloads, `sha256-${sha256(contents)}`);
    await fs.mkdir(work, { recursive: true });
    await fs.writeFile(path.join(work, "content"), contents.subarray(0, 1234));
    const holder = { pid: process.pid, started: "at another time", host: hostname() };
    await fs.writeFile(path.join(work, "lock-1-dead"), JSON.stringify(holder));
    expect(await download()).toEqual(contents);
    expect(fromStorage().map(({ range }) => range)).toEqual(["bytes=1234-"]);
  });
});

describe("a server that lies", () => {
  const other = randomBytes(contents.length);

  it("about the contents: nothing is kept", async () => {
    onStorage(100, (request, response) => sendFile(other, request, response));
    const problem = new RegExp(
      `open/resolve/${commitOf("a")}/data/train.jsonl has the wrong checksum: sha256 ${sha256(other)}, expected ${sha256(contents)}; nothing was kept`,
    );
    await expect(download()).rejects.toThrow(problem);
    expect(await everythingKept()).toEqual([]);
  });

  it("about the contents of the first part: the whole file is fetched again", async () => {
    onStorage(1, (_, response) => {
      response.writeHead(200, { "content-length": contents.length });
      response.write(other.subarray(0, 5000), () => response.destroy());
    });
    expect(await download()).toEqual(contents);
  });

  it("about the length: more than listed ends the transfer", async () => {
    onStorage(100, (_, response) => {
      response.writeHead(200);
      response.end(Buffer.concat([contents, contents]));
    });
    await expect(download()).rejects.toThrow(/sends more than the 300000 bytes that the hub lists/);
  });

  it("about the length: if it is less than listed, the rest is requested", async () => {
    onStorage(2, (_, response) =>
      response.writeHead(200, { "content-length": 1000 }).end(contents.subarray(0, 1000)),
    );
    expect(await download()).toEqual(contents);
  });

  it("with a page of HTML", async () => {
    hub.faults.push((_, response) =>
      response
        .writeHead(200, { "content-type": "text/html" })
        .end("<html>\u001b[2JPlease log in to the Wi-Fi</html>"),
    );
    await expect(download()).rejects.toThrow(/answers with no JSON: <html> \[2JPlease log in to the Wi-Fi/);
  });

  it.each([
    ["without checksums", [{ type: "file", path: "train.jsonl", size: 5 }]],
    [
      "with a path outside the folder",
      [{ type: "file", path: "../../train.jsonl", size: 5, oid: commitOf("b") }],
    ],
    ["with negative sizes", [{ type: "file", path: "train.jsonl", size: -5, oid: commitOf("b") }]],
    ["that is not a list", { error: "no" }],
  ])("a listing %s is rejected", async (_, tree) => {
    hub.faults.push((request, response) => {
      if (!request.path.includes("/tree/")) return false;
      response.end(JSON.stringify(tree));
      return true;
    });
    await expect(download()).rejects.toMatchObject({ code: "bad_data" });
  });

  it("another commit than the requested one is rejected", async () => {
    hub.faults.push((_, response) => response.end(JSON.stringify({ id: "owner/open", sha: commitOf("b") })));
    await expect(listFiles(hub.access, "owner/open", commitOf("a"))).rejects.toThrow(/gives another commit/);
  });

  it("an endless listing and endless redirects are stopped", async () => {
    hub.faults.push((request, response) => {
      if (!request.path.includes("/tree/")) return false;
      response.writeHead(200, { link: `<${hub.url}${request.path}>; rel="next"` }).end("[]");
      return true;
    });
    await expect(download()).rejects.toThrow(/has no last page/);
    hub.faults.length = 0;
    hub.faults.push((request, response) => response.writeHead(302, { location: request.path }).end());
    await expect(download()).rejects.toThrow(/redirects more than 8 times/);
  });
});

describe("the token", () => {
  it("opens gated sets, and is sent only to the hub", async () => {
    const access = testAccess(hub.url, "hf_right");
    expect(await download("owner/gated", "train.jsonl", { access })).toEqual(contents);
    expect(
      hub.seen
        .filter(({ origin }) => origin === "hub")
        .every(({ authorization }) => authorization === "Bearer hf_right"),
    ).toBe(true);
    expect(fromStorage().map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  it("without it, or with a wrong one, the error says what to do without showing it", async () => {
    await expect(download("owner/gated", "train.jsonl")).rejects.toThrow(
      /datasets\/owner\/gated is refused with status 401 \(Access to this dataset is restricted\); .*put a token .*HF_TOKEN/,
    );
    const wrong = download("owner/gated", "train.jsonl", { access: testAccess(hub.url, "hf_wrong") });
    await expect(wrong).rejects.toThrow(/the token in HF_TOKEN may not read it/);
    const shown = await wrong.catch((error: Error) => `${error.message}${error.stack}`);
    expect(shown).not.toContain("hf_wrong");
  });
});

describe("a hub that repeats the token", () => {
  const token = "hf_right/+s3cret";
  const echoes: readonly [string, (response: ServerResponse) => void, RegExp][] = [
    [
      "in the reason of an error",
      (response) => response.writeHead(404, { "x-error-message": `nothing for Bearer ${token}` }).end(),
      /nothing for Bearer \[HF_TOKEN\]/,
    ],
    [
      "in what is no JSON",
      (response) => response.end(`<p>${Buffer.from(token).toString("hex")}`),
      /no JSON: <p>\[HF_TOKEN\]/,
    ],
  ];
  it.each(echoes)("%s", async (_, respond, message) => {
    const server = createServer((_request, response) => respond(response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const access = testAccess(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, token);
      const failed = await listFiles(access, "owner/open", "main").catch((error: unknown) => error);
      expect((failed as Error).message).toMatch(message);
      expect(inspect(failed, { depth: 9 })).not.toContain(token);
    } finally {
      server.close();
    }
  });
});

describe("a busy hub", () => {
  it("is asked again after the requested time", async () => {
    const waits: number[] = [];
    const sleep = (milliseconds: number): Promise<void> => {
      waits.push(milliseconds);
      return Promise.resolve();
    };
    const access = { ...hub.access, retries: { ...hub.access.retries, sleep } };
    onStorage(1, (_, response) => response.writeHead(429, { "retry-after": "7" }).end());
    onStorage(1, (_, response) => response.writeHead(503).end());
    expect(await download(undefined, undefined, { access })).toEqual(contents);
    expect(waits).toEqual([7000, 2]);
  });

  it("that requests an hour ends the command with its message", async () => {
    onStorage(100, (_, response) =>
      response.writeHead(429, { "retry-after": "3600", "x-error-message": "slow down" }).end(),
    );
    await expect(download()).rejects.toThrow(
      /answers with status 429 \(slow down\) and asks to wait for 3600 seconds/,
    );
    expect(fromStorage()).toHaveLength(1);
  });

  it("is asked a few times", async () => {
    onStorage(3, (_, response) => response.writeHead(503).end());
    expect(await download()).toEqual(contents);
    expect(fromStorage()).toHaveLength(4);
  });
});

it("signed addresses are not shown", async () => {
  onStorage(100, (_, response) => response.writeHead(403).end());
  const failure = await download().catch((error: Error) => error.message);
  expect(failure).toMatch(/is refused with status 403/);
  expect(failure).not.toContain("s3cret");
});

it("fetches a truncated file of the cache again", async () => {
  await download();
  const file = blobFile(cache, { algorithm: "sha256", hex: sha256(contents) });
  await fs.truncate(file, 5);
  expect(await download()).toEqual(contents);
});

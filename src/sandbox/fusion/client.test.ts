/**
 * Tests the client with a server that implements SandboxFusion's API; backends.test.ts uses a real one if its URL is
 * set.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../errors.ts";
import { defaultLimits } from "../limits.ts";
import type { Sandbox } from "../sandbox.ts";
import { python } from "../testing.ts";
import { fusionSandbox, pingFusion } from "./client.ts";

interface Reply {
  readonly status?: number;
  readonly body: unknown;
}

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const asked: Record<string, unknown>[] = [];

/** @param answer null: it never answers */
async function serving(answer: (body: Record<string, unknown>) => Reply | null): Promise<string> {
  asked.length = 0;
  server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      if (request.url === "/v1/ping") return response.end('"pong"');
      asked.push(body);
      const reply = answer(body);
      if (reply === null) return undefined;
      response.writeHead(reply.status ?? 200, { "content-type": "application/json" });
      return response.end(typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  return JSON.parse((await text(request)) || "{}") as Record<string, unknown>;
}

const retries = { retries: 2, firstDelay: 1, longestDelay: 1 };

async function sandboxFor(answer: (body: Record<string, unknown>) => Reply | null): Promise<Sandbox> {
  return fusionSandbox({ url: await serving(answer), workers: 2, limits: defaultLimits, retries });
}

const finished = (rest: object): Reply => ({
  body: {
    status: "Success",
    message: "",
    compile_result: null,
    run_result: { status: "Finished", execution_time: 0.5, return_code: 0, stdout: "", stderr: "", ...rest },
    executor_pod_name: null,
    files: {},
  },
});

describe("SandboxFusion's client", () => {
  it("sends requests in the format of its API", async () => {
    const sandbox = await sandboxFor(() => ({
      body: { ...(finished({ stdout: "ü" }).body as object), files: { "out.txt": "YQ==", "../x": "YQ==" } },
    }));
    const result = await sandbox.run(
      python("print(1)", {
        files: { "in.txt": "ü" },
        outputs: ["out.txt"],
        stdin: "x",
        limits: { wallSeconds: 3 },
      }),
    );
    expect(asked).toEqual([
      {
        language: "python",
        code: "print(1)",
        stdin: "x",
        files: { "in.txt": Buffer.from("ü").toString("base64") },
        fetch_files: ["out.txt"],
        run_timeout: 3,
        memory_limit_MB: 512,
      },
    ]);
    expect(result).toEqual({
      ended: "exited",
      exitCode: 0,
      signal: null,
      stdout: "ü",
      stderr: "",
      files: { "out.txt": Uint8Array.of(97) },
      seconds: 0.5,
      peakBytes: 0,
    });
  });

  it.each([
    [{ return_code: 3 }, { ended: "exited", exitCode: 3 }],
    [{ return_code: -11 }, { ended: "signalled", signal: "SIGSEGV", exitCode: null }],
    [{ return_code: 139 }, { ended: "signalled", signal: "SIGSEGV" }],
    [{ return_code: 200 }, { ended: "exited", exitCode: 200, signal: null }],
    [
      { return_code: 1, stderr: "Traceback\nMemoryError\n" },
      { ended: "memory", exitCode: 1 },
    ],
    [
      { status: "TimeLimitExceeded", return_code: null },
      { ended: "wall-time", exitCode: null },
    ],
    [{ stdout: "x".repeat(2 ** 20 + 1) }, { ended: "output", exitCode: null, stdout: "x".repeat(2 ** 20) }],
  ])("understands the ending %#", async (run, expected) => {
    const sandbox = await sandboxFor(() => finished(run));
    expect(await sandbox.run(python(""))).toMatchObject(expected);
  });

  it.each([
    [{ status: 500, body: "broken" }, "status 500"],
    [{ body: "not JSON" }, "not in the format of its API"],
    [{ body: { status: "SandboxError", message: "no conda" } }, "no conda"],
    [{ body: { status: "Failed", message: "", files: {} } }, "not in the format of its API"],
    [{ body: { ...(finished({}).body as object), files: undefined } }, "not in the format of its API"],
    [{ body: { ...(finished({}).body as object), files: { a: "YQ=" } } }, "not in the format of its API"],
    [finished({ return_code: null }), "does not say how a program ended"],
    [finished({ return_code: 137 }), "ended from outside (return code 137)"],
    [finished({ return_code: -15 }), "ended from outside (return code -15)"],
    [finished({ stdout: "x".repeat(2 ** 22) }), "more than"],
  ])("retries failures, then throws (%#)", async (reply: Reply, message) => {
    const sandbox = await sandboxFor(() => reply);
    const limits = { outputBytes: 1000, diskBytes: 4096 };
    const failure = await sandbox.run(python("", { limits })).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ServiceError);
    expect((failure as Error).message).toContain(message);
    expect(asked).toHaveLength(3);
  });

  it("believes an end by a signal that comes three times", async () => {
    let code = -11;
    const sandbox = await sandboxFor(() => finished({ return_code: code++ === -11 ? -11 : 0 }));
    expect(await sandbox.run(python(""))).toMatchObject({ ended: "exited", exitCode: 0 });
    expect(asked).toHaveLength(2);
  });

  it("throws a ServiceError if nothing answers", async () => {
    const url = await serving(() => null);
    await pingFusion(url);
    server?.close();
    server?.closeAllConnections();
    await expect(pingFusion(url)).rejects.toThrow(ServiceError);
  });

  it("cancels waiting and running programs, and runs at most as many as it has workers", async () => {
    const sandbox = await sandboxFor(() => null);
    const controller = new AbortController();
    const results = Array.from({ length: 5 }, () => sandbox.run(python(""), controller.signal));
    await expect.poll(() => asked.length).toBe(2);
    controller.abort();
    expect((await Promise.all(results)).map(({ ended }) => ended)).toEqual(Array(5).fill("cancelled"));
    expect(asked).toHaveLength(2);
  });

  it("runs the remaining programs if some are cancelled", async () => {
    const sandbox = await sandboxFor(({ code }) => (code === "waits" ? null : finished({ stdout: "other" })));
    const controller = new AbortController();
    const waits = Array.from({ length: 5 }, () => sandbox.run(python("waits"), controller.signal));
    const other = sandbox.run(python("other"));
    await expect.poll(() => asked.length).toBe(2);
    controller.abort();
    await Promise.all(waits);
    expect((await other).stdout).toBe("other");
  });

  it("rejects what it does not support", async () => {
    const sandbox = await sandboxFor(() => finished({}));
    await expect(sandbox.start(python(""))).rejects.toThrow("does not support");
    await expect(sandbox.run(python("", { outputs: ["*.txt"] }))).rejects.toThrow("name each file");
  });
});

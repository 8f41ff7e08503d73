/** Interpreters that are missing, broken, without PyTorch, talkative, silent: each is a clear error. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failure, temporaryFolder } from "../../models/test-model.ts";
import { TorchEngine } from "./torch-engine.ts";
import { TorchWorker } from "./worker.ts";

const folder = temporaryFolder();
let scripts = 0;

/** An interpreter that is a shell script. */
function interpreter(lines: string): string {
  const file = join(folder, `python-${++scripts}`);
  writeFileSync(file, `#!/bin/sh\n${lines}\n`);
  chmodSync(file, 0o755);
  return file;
}

function started(python: string, more: { timeoutSeconds?: number; log?: string } = {}): TorchWorker {
  return new TorchWorker({ python, settings: {}, timeoutSeconds: 60, ...more });
}

/** A message without arrays, as `printf` writes it. */
function framed(header: object): string {
  const text = JSON.stringify(header);
  const length = text.length.toString(8).padStart(3, "0");
  return `printf '\\${length}\\000\\000\\000${text}'`;
}

describe("a worker that does not start", () => {
  it("without an interpreter", async () => {
    const worker = started(join(folder, "nowhere"));
    expect(await failure("no_engine", () => worker.ready)).toMatch(/nowhere.*could not be started/);
    expect(await failure("no_engine", () => worker.ask("remove", {}))).toMatch(/nowhere/);
    await worker.close();
  });

  it("without PyTorch: the worker says what Python lacks", async () => {
    const worker = started(
      interpreter(framed({ id: 0, error: { code: "no_engine", message: "No module named torch" } })),
    );
    expect(await failure("no_engine", () => worker.ready)).toBe("No module named torch.");
    await worker.close();
  });

  it("with a Python that fails: its last words are quoted, without its colours", async () => {
    const worker = started(interpreter("echo 'ImportError: libfoo.so' >&2; exit 3"));
    expect(await failure("no_engine", () => worker.ready)).toMatch(
      /exited with code 3.*ImportError: libfoo\.so/,
    );
    await worker.close();
  });

  it("with a program that writes something else", async () => {
    const worker = started(interpreter("echo hello, this is no message; sleep 60"));
    expect(await failure("no_engine", () => worker.ready)).toMatch(/what is no message/);
    await worker.close();
  });

  it("that hangs", async () => {
    const worker = started(interpreter("sleep 60"), { timeoutSeconds: 1 });
    expect(await failure("no_engine", () => worker.ready)).toMatch(
      /no sign of progress in its start for 1 s/,
    );
    await worker.close();
  });
});

describe("a worker that has started", () => {
  it("and ends: every verb fails as a service, and the next ones too", async () => {
    const worker = started(
      interpreter(`${framed({ id: 0, device: "cpu" })}; head -c 1 >/dev/null; kill -9 $$`),
    );
    const engine = new TorchEngine(worker);
    expect(await failure("service", () => engine.removePolicy("p").catch(askDirectly))).toMatch(/SIGKILL/);
    expect(await failure("service", () => worker.ask("remove", {}))).toMatch(/SIGKILL/);
    await engine.close();
    async function askDirectly(): Promise<void> {
      await worker.ask("remove", {});
    }
  });

  it("and hangs in a verb", async () => {
    const worker = started(interpreter(`${framed({ id: 0 })}; sleep 60`), { timeoutSeconds: 1 });
    await worker.ready;
    expect(await failure("service", () => worker.ask("optimStep", {}))).toMatch(/in optimStep for 1 s/);
    await worker.close();
  });

  it("writes to the run's folder once there is one, without secrets", async () => {
    process.env["TROUPE_TEST_KEY"] = "hunter22-hunter22";
    const log = join(folder, "run", "engine.log");
    const says =
      "echo first >&2; head -c 1 >/dev/null; echo hunter22-hunter22 -$TROUPE_TEST_KEY- >&2; exit 1";
    const worker = started(interpreter(`${framed({ id: 0 })}; ${says}`), { log });
    await worker.ready;
    mkdirSync(join(folder, "run"));
    await failure("service", () => worker.ask("remove", {}));
    delete process.env["TROUPE_TEST_KEY"];
    expect(readFileSync(log, "utf8")).toBe("first\n[TROUPE_TEST_KEY] --\n");
    await worker.close();
  });
});

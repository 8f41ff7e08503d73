/** Interpreters that are missing, broken, without PyTorch, talkative, silent: each is a clear error. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { failure, temporaryFolder } from "../../models/test-model.ts";
import { hasHeader, steppedSchema } from "./answers.ts";
import { LastingWorker } from "./lasting-worker.ts";
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
  return `printf '\\360TRM\\${length}\\000\\000\\000${text}'`;
}

const whole = { numpy: "2.1.0", safetensors: "0.8.0", torch: "2.15.0+cpu", transformers: "5.24.0" };

/** A Python whose packages have nothing but a version; a text with spaces is their code. */
async function whatIsWrong(packages: Readonly<Record<string, string>>): Promise<string> {
  const fakes = join(folder, `packages-${++scripts}`);
  for (const [name, version] of Object.entries(packages)) {
    mkdirSync(join(fakes, name), { recursive: true });
    const code = version.includes(" ") ? version : `__version__ = "${version}"`;
    writeFileSync(join(fakes, name, "__init__.py"), `${code}\n`);
  }
  // Without the packages of this machine, but with the worker's folder.
  return problemOf(interpreter(`PYTHONPATH="$PYTHONPATH:${fakes}" exec python3 -S "$@"`));
}

/** What the worker says that it lacks, once it was asked to start. */
async function problemOf(python: string, more = {}): Promise<string> {
  const worker = started(python, more);
  const problem = await failure("no_engine", () => worker.ready);
  await worker.close();
  return problem;
}

const hello = framed({ id: 0, device: "cpu" });
const lack = { code: "no_engine", message: "No module named torch" };

describe("a worker that does not start", () => {
  it("without an interpreter", async () => {
    const worker = started(join(folder, "nowhere"));
    expect(await failure("no_engine", () => worker.ready)).toMatch(
      /nowhere cannot be started \(there is no such program\); `troupe engine install torch` installs one/,
    );
    expect(await failure("no_engine", () => worker.ask("remove", {}))).toMatch(/nowhere/);
    await worker.close();
  });

  it("from a directory", async () => {
    expect(await failure("no_engine", async () => started(folder).ready)).toMatch(/cannot be started/);
  });

  it.each([
    ["says what Python lacks", framed({ id: 0, error: lack }), /^No module named torch\.$/],
    [
      "ends: its last words are quoted",
      "echo 'no libfoo.so' >&2; exit 3",
      /exited with code 3.*no libfoo\.so/,
    ],
    ["prints before the worker does", "echo Welcome to Python; sleep 60", /is no message.*Welcome to Python/],
    ["prints an empty line before it is a worker", `echo; ${hello}; sleep 60`, /what is no message: "\\n/],
    ["hangs", "sleep 60", /no sign of progress in its start for 1 s/],
  ])("because its program %s", async (what, lines, said) => {
    const more = what === "hangs" ? { timeoutSeconds: 1 } : {};
    expect(await problemOf(interpreter(lines), more)).toMatch(said);
  });

  it("names a command that works where it is read", async () => {
    vi.stubEnv("npm_package_name", "troupe");
    vi.stubEnv("npm_lifecycle_event", "troupe");
    expect(await problemOf(interpreter(framed({ id: 0, error: { ...lack, fix: "python" } })))).toBe(
      "No module named torch; `npm run troupe -- engine install torch` makes a Python that has it.",
    );
  });

  it("without PyTorch, with one that is too old, or broken", async () => {
    const { torch: _, ...others } = whole;
    expect(await whatIsWrong(others)).toMatch(
      /cannot import torch .*No module named 'torch'.*engine install torch/,
    );
    expect(await whatIsWrong({ ...whole, torch: "1.13.1" })).toMatch(
      /has torch 1\.13\.1; torch 2\.5 or newer is needed/,
    );
    expect(await whatIsWrong({ ...whole, transformers: "4.57.0" })).toMatch(/has transformers 4\.57\.0/);
    expect(await whatIsWrong({ ...whole, torch: "raise OSError('libcudart.so.13')" })).toMatch(
      /cannot import torch \(OSError: libcudart\.so\.13\)/,
    );
  });
});

/** Reads the first byte of a question. */
const asked = "head -c 1 >/dev/null";

/** Each start takes the next program, and the last one again. @param seconds that the first one may be silent */
function lasting(programs: readonly string[], seconds = 60) {
  let starts = 0;
  const worker = new LastingWorker(() => {
    const lines = programs[Math.min(starts++, programs.length - 1)] ?? "";
    return started(interpreter(lines), { timeoutSeconds: starts === 1 ? seconds : 60 });
  });
  return { worker, starts: () => starts };
}

/** Programs that end at their first question, answer one, or answer one and stay. */
const endingOn = (device: string) => `${framed({ id: 0, device })}; ${asked}; exit 3`;
const answers = (norm: number) => `${framed({ id: 0 })}; ${asked}; ${framed({ id: 1, gradientNorm: norm })}`;
const answersOnce = (norm: number) => `${answers(norm)}; ${asked}; exit 3`;
const answersAndStays = (norm: number) => `${answers(norm)}; sleep 60`;

describe("a worker that has started", () => {
  it("and ends: every verb fails as a service, and the next ones too", async () => {
    const worker = started(interpreter(`${hello}; ${asked}; kill -9 $$`));
    await worker.ready;
    for (let time = 0; time < 2; time++)
      expect(await failure("service", () => worker.ask("remove", {}))).toMatch(/SIGKILL/);
    await worker.close();
  });

  it("and ends again and again: after three in the same verb, that is an error", async () => {
    const { worker, starts } = lasting([`${hello}; ${asked}; echo no luck >&2; kill -9 $$`]);
    const problem = await failure("service", () => worker.ask("optimStep", { name: "p" }));
    expect(problem).toMatch(/3 workers ended in optimStep, .*SIGKILL.*no luck.*lower engine\.trunkTokens/s);
    expect(starts()).toBe(3);
    await worker.close();
  });

  it("and cannot be started again on the same device: nothing is computed on another", async () => {
    const { worker, starts } = lasting([endingOn("a GPU"), endingOn("cpu")]);
    for (let time = 0; time < 2; time++)
      expect(await failure("service", () => worker.ask("remove", { name: "p" }))).toMatch(
        /another device \(cpu; before: a GPU\)/,
      );
    expect(starts()).toBe(2);
    await worker.close();
  });

  it("and repeats a step with another result: its weights do not pass for those of the steps before", async () => {
    const { worker, starts } = lasting([answersOnce(0.5), answersOnce(0.51)]);
    await worker.ask("optimStep", { name: "p" });
    const problem = /gradient of length 0\.51; before, it was 0\.5\b/;
    expect(await failure("service", () => worker.ask("sample", { policy: "p" }))).toMatch(problem);
    expect(starts()).toBe(2);
    await worker.close();
  });

  it("and is stopped: another one is asked", async () => {
    const second = `${framed({ id: 0 })}; ${asked}; ${framed({ id: 1 })}; sleep 60`;
    const { worker, starts } = lasting([`${framed({ id: 0 })}; kill -STOP $$`, second], 1);
    await worker.ready;
    await worker.ask("remove", { name: "p" });
    expect(starts()).toBe(2);
    await worker.close();
  });

  it("and answers what cannot be: it is ended, and another one is asked", async () => {
    const { worker, starts } = lasting([answersAndStays(-1), answersAndStays(0.5)]);
    const check = hasHeader(steppedSchema);
    const { header } = await worker.ask("optimStep", { name: "p" }, {}, { check });
    expect(header).toEqual({ id: 1, gradientNorm: 0.5 });
    expect(starts()).toBe(2);
    await worker.close();
  });

  it("and hangs in a verb", async () => {
    const worker = started(interpreter(`${framed({ id: 0 })}; sleep 60`), { timeoutSeconds: 1 });
    await worker.ready;
    expect(await failure("service", () => worker.ask("optimStep", {}))).toMatch(/in optimStep for 1 s/);
    await worker.close();
  });

  it("writes to the run's folder once there is one, without secrets", async () => {
    vi.stubEnv("TROUPE_TEST_KEY", "hunter22-hunter22");
    const log = join(folder, "run", "engine.log");
    const says = `echo first >&2; ${asked}; echo hunter22-hunter22 -$TROUPE_TEST_KEY- >&2; exit 1`;
    const worker = started(interpreter(`${framed({ id: 0 })}; ${says}`), { log });
    await worker.ready;
    mkdirSync(join(folder, "run"));
    await failure("service", () => worker.ask("remove", {}));
    expect(readFileSync(log, "utf8")).toBe("first\n[TROUPE_TEST_KEY] --\n");
    await worker.close();
  });
});

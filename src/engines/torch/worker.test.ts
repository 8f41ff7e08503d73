/** Interpreters that are missing, broken, without PyTorch, talkative, silent: each is a clear error. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
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
  const worker = started(interpreter(`PYTHONPATH="$PYTHONPATH:${fakes}" exec python3 -S "$@"`));
  const problem = await failure("no_engine", () => worker.ready);
  await worker.close();
  return problem;
}

describe("a worker that does not start", () => {
  it("without an interpreter", async () => {
    const worker = started(join(folder, "nowhere"));
    expect(await failure("no_engine", () => worker.ready)).toMatch(
      /nowhere cannot be started \(there is no such program\); `troupe engine install torch` installs one/,
    );
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

  it("names a command that works where it is read", async () => {
    const error = { code: "no_engine", message: "No module named torch", fix: "python" };
    process.env["npm_package_name"] = "troupe";
    process.env["npm_lifecycle_event"] = "troupe";
    const worker = started(interpreter(framed({ id: 0, error })));
    expect(await failure("no_engine", () => worker.ready)).toBe(
      "No module named torch; `npm run troupe -- engine install torch` makes a Python that has it.",
    );
    delete process.env["npm_package_name"];
    delete process.env["npm_lifecycle_event"];
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

  it("with a program that writes an empty line before it is a worker", async () => {
    const worker = started(interpreter(`echo; ${framed({ id: 0, device: "cpu" })}; sleep 60`));
    expect(await failure("no_engine", () => worker.ready)).toMatch(/what is no message: "\\n/);
    await worker.close();
  });

  it("from a directory", async () => {
    const problem = await failure("no_engine", async () => started(folder).ready);
    expect(problem).toContain(folder);
    expect(problem).toMatch(/cannot be started/);
  });

  it("that prints before the worker does", async () => {
    const worker = started(interpreter("echo Welcome to Python; sleep 60"));
    expect(await failure("no_engine", () => worker.ready)).toMatch(/what is no message.*Welcome to Python/);
    await worker.close();
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
    await worker.ready;
    expect(await failure("service", () => worker.ask("remove", {}))).toMatch(/SIGKILL/);
    expect(await failure("service", () => worker.ask("remove", {}))).toMatch(/SIGKILL/);
    await worker.close();
  });

  it("and ends again and again: after three in the same verb, that is an error", async () => {
    let starts = 0;
    const ends = interpreter(
      `${framed({ id: 0, device: "cpu" })}; head -c 1 >/dev/null; echo no luck >&2; kill -9 $$`,
    );
    const worker = new LastingWorker(() => {
      starts += 1;
      return started(ends);
    });
    const problem = await failure("service", () => worker.ask("optimStep", { name: "p" }));
    expect(problem).toMatch(/3 workers ended in optimStep, .*SIGKILL.*no luck.*lower engine\.trunkTokens/s);
    expect(starts).toBe(3);
    await worker.close();
  });

  it("and cannot be started again on the same device: nothing is computed on another", async () => {
    let starts = 0;
    const worker = new LastingWorker(() => {
      const hello = framed({ id: 0, device: starts++ === 0 ? "a GPU" : "cpu" });
      return started(interpreter(`${hello}; head -c 1 >/dev/null; exit 3`));
    });
    const problem = /another device \(cpu; before: a GPU\)/;
    expect(await failure("service", () => worker.ask("remove", { name: "p" }))).toMatch(problem);
    expect(await failure("service", () => worker.ask("remove", { name: "p" }))).toMatch(problem);
    expect(starts).toBe(2);
    await worker.close();
  });

  it("and repeats a step with another result: its weights do not pass for those of the steps before", async () => {
    let starts = 0;
    const worker = new LastingWorker(() => {
      const norm = starts++ === 0 ? 0.5 : 0.51;
      const answers = `${framed({ id: 1, gradientNorm: norm })}; head -c 1 >/dev/null; sleep 1; exit 3`;
      return started(interpreter(`${framed({ id: 0 })}; head -c 1 >/dev/null; ${answers}`));
    });
    await worker.ask("optimStep", { name: "p" });
    const problem = /gradient of length 0\.51; before, it was 0\.5\b/;
    expect(await failure("service", () => worker.ask("sample", { policy: "p" }))).toMatch(problem);
    expect(starts).toBe(2);
    await worker.close();
  });

  it("and is stopped: another one is asked", async () => {
    let starts = 0;
    const worker = new LastingWorker(() => {
      const isFirst = starts++ === 0;
      const then = isFirst ? "kill -STOP $$" : `head -c 1 >/dev/null; ${framed({ id: 1 })}; sleep 60`;
      return started(interpreter(`${framed({ id: 0 })}; ${then}`), { timeoutSeconds: isFirst ? 1 : 60 });
    });
    await worker.ready;
    await worker.ask("remove", { name: "p" });
    expect(starts).toBe(2);
    await worker.close();
  });

  it("and answers what cannot be: it is ended, and another one is asked", async () => {
    let starts = 0;
    const worker = new LastingWorker(() => {
      const norm = starts++ === 0 ? -1 : 0.5;
      const answer = framed({ id: 1, gradientNorm: norm });
      return started(interpreter(`${framed({ id: 0 })}; head -c 1 >/dev/null; ${answer}; sleep 60`));
    });
    const check = hasHeader(steppedSchema);
    const { header } = await worker.ask("optimStep", { name: "p" }, {}, { check });
    expect(header).toEqual({ id: 1, gradientNorm: 0.5 });
    expect(starts).toBe(2);
    await worker.close();
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

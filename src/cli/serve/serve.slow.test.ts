import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { runCommand, troupe } from "../testing/command.ts";

it("rejects a public address without keys, two models of one name, and what is no model", async () => {
  const cwd = temporaryFolder();
  await makeModel(cwd, "tiny");
  const environment = { TROUPE_SERVE_KEYS: "" };
  const open = await runCommand(["serve", "tiny", "--port", "0", "--host", "0.0.0.0"], {
    cwd,
    env: environment,
  });
  expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("set keys, or use 127.0.0.1")]);
  const twice = await runCommand(["serve", "tiny", "./tiny", "--port", "0"], { cwd });
  expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("Two models are called tiny")]);
  const none = await runCommand(["serve", "tokenizer", "--port", "0"], { cwd });
  expect(none.code).toBe(1);
  const far = await runCommand(["serve", "tiny", "--port", "99999"], { cwd });
  expect([far.code, far.stderr]).toEqual([2, expect.stringContaining("a whole number from 0 to 65535")]);
});

it("rejects an empty file of keys, and says that the official SDK sends only some keys", async () => {
  const cwd = temporaryFolder();
  await makeModel(cwd, "tiny");
  const serve = ["serve", "tiny", "--port", "0", "--keys", "keys"];
  writeFileSync(path.join(cwd, "keys"), " \n\n");
  const empty = await runCommand(serve, { cwd });
  expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("file of keys keys has none")]);
  writeFileSync(path.join(cwd, "keys"), "tml-one\ntwo\n");
  const started = await troupe(serve, { cwd, watch: endOnceReady });
  expect(started.stdout).toContain("1 of 2 keys do not begin with tml-");
});

it("says where it listens, what it serves, and how to connect; as JSON with --json; hardly with --quiet", async () => {
  const cwd = temporaryFolder();
  await makeModel(cwd, "tiny");
  const start = (...more: string[]) =>
    troupe(["serve", "tiny", "--port", "0", ...more], { cwd, watch: endOnceReady });
  const { code, stdout } = await start();
  expect(code).toBe(0);
  const url = /^(http:\S+) serves tiny with the local engine/.exec(stdout)?.[1] ?? "";
  expect(stdout).toContain("Saved weights are in served. Without keys, only programs of this machine");
  expect(stdout).toContain(
    `\nimport tinker\nclient = tinker.ServiceClient(base_url="${url}", api_key="tml-local")\n` +
      `model = client.create_lora_training_client(base_model="tiny", rank=8).result()\n`,
  );
  const quiet = await start("--quiet");
  expect(quiet.stdout.trim().split("\n")).toEqual([expect.stringContaining(" serves tiny with the local")]);
  const events = await start("--json");
  expect(events).toMatchObject({ code: 0, stderr: "" });
  const lines = events.stdout.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { event: "listening", models: ["tiny"], keys: 0, folder: "served" },
    { event: "stopping", models: 0, unfinished: 0 },
  ]);
});

const python = process.env["TROUPE_TINKER_PYTHON"] ?? "python3";
const hasSdk = spawnSync(python, ["-c", "import tinker"], { cwd: temporaryFolder() }).status === 0;

it.skipIf(!hasSdk)(
  "the lines for Python that it prints work when they are pasted",
  { timeout: 120_000 },
  async () => {
    const cwd = temporaryFolder();
    await makeModel(cwd, "tiny");
    let answer = "";
    const paste = (output: string, interrupt: () => void): void => {
      const lines = /^import tinker\n.*\n.*\.result\(\)\n/m.exec(output)?.[0];
      if (lines === undefined || answer !== "") return;
      answer = "asked";
      const input = `${lines}print(model.get_info().model_data.model_name)\n`;
      const env = { ...process.env, TINKER_TELEMETRY: "0" };
      const stdio = ["pipe", "pipe", "ignore"] as const;
      answer = execFileSync(python, ["-i"], { cwd, input, env, stdio: [...stdio] })
        .toString()
        .trim();
      interrupt();
    };
    await troupe(["serve", "tiny", "--port", "0"], { cwd, watch: paste });
    expect(answer).toBe("tiny");
  },
);

function endOnceReady(output: string, interrupt: () => void): void {
  if (/serves|listening/.test(output)) interrupt();
}

/** Node's own `recursive` would try again for ever, and ignore signals. */
it("rejects a folder that cannot be created", async () => {
  const cwd = temporaryFolder();
  await makeModel(cwd, "tiny");
  const { code, stderr } = await runCommand(["serve", "tiny", "--port", "0", "--folder", "/proc/none"], {
    cwd,
  });
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining("Cannot write /proc/none: no folder can be created there."),
  ]);
});

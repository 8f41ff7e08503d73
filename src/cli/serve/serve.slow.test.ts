import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, it } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { jsonLines, runCommand, troupe } from "../testing/command.ts";

const cwd = temporaryFolder();
beforeAll(() => makeModel(cwd, "tiny"));

it.each([
  ["tiny --host 0.0.0.0", 2, "set keys, or use 127.0.0.1"],
  ["tiny ./tiny", 2, "Two models are called tiny"],
  ["tokenizer", 1, ""],
  ["tiny --port 99999", 2, "a whole number from 0 to 65535"],
  ["tiny --keys empty", 2, "file of keys empty has none"],
  // Node's own `recursive` would try again for ever, and ignore signals.
  ["tiny --folder /proc/none", 1, "Cannot write /proc/none: no folder can be created there."],
])("rejects %s", async (line, expected, problem) => {
  writeFileSync(path.join(cwd, "empty"), " \n\n");
  const env = { TROUPE_SERVE_KEYS: "" };
  const { code, stderr } = await runCommand(["serve", "--port", "0", ...line.split(" ")], { cwd, env });
  expect([code, stderr]).toEqual([expected, expect.stringContaining(problem)]);
});

it("says where it listens, what it serves, and how to connect; as JSON with --json; hardly with --quiet", async () => {
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
  writeFileSync(path.join(cwd, "keys"), "tml-one\ntwo\n");
  const quiet = await start("--quiet", "--keys", "keys");
  expect(quiet.stdout.trim().split("\n")).toEqual([
    expect.stringContaining(" serves tiny with the local"),
    expect.stringContaining("1 of 2 keys do not begin with tml-"),
  ]);
  const events = await start("--json");
  expect(events).toMatchObject({ code: 0, stderr: "" });
  expect(jsonLines(events)).toMatchObject([
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
    await troupe("serve tiny --port 0", { cwd, watch: paste });
    expect(answer).toBe("tiny");
  },
);

function endOnceReady(output: string, interrupt: () => void): void {
  if (/serves|listening/.test(output)) interrupt();
}

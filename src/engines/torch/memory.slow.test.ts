/** The worker gets no more memory in the middle of a verb. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import type { Datum } from "../engine.ts";
import { LastingWorker } from "./lasting-worker.ts";
import { device, engineWith, startWorker } from "./testing/own-worker.ts";
import { python } from "./testing/shared-worker.ts";
import { TorchEngine } from "./torch-engine.ts";

const weight = "model.embed_tokens.weight";

function datum(continuations: number): Datum {
  const all = Array.from({ length: continuations }, (_, index) => ({
    tokens: Int32Array.from({ length: 8 }, (__, token) => 3 + ((index + token) % 6)),
  }));
  return { policy: "p", prompt: Int32Array.of(3, 4, 5), continuations: all };
}

/** Bytes of addresses that the process may have. */
function limit(pid: number, bytes: number | "unlimited"): void {
  execFileSync("prlimit", [`--pid=${pid}`, `--as=${bytes}:unlimited`]);
}

function sizeOf(pid: number): number {
  const [, kilobytes] = /VmSize:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return 1024 * Number(kilobytes);
}

/** Takes the memory of a GPU but for some bytes, until it is ended. */
async function startHoarding(left: number): Promise<{ end(): void }> {
  const lines = [
    "import sys, torch",
    "free, _ = torch.cuda.mem_get_info()",
    `held = torch.empty(free - ${left}, dtype=torch.uint8, device='cuda')`,
    "print('held', flush=True)",
    "sys.stdin.read()",
  ];
  const hoarder = spawn(python ?? "", ["-c", lines.join("\n")], { stdio: ["pipe", "pipe", "inherit"] });
  const [text] = (await once(hoarder.stdout, "data")) as [Buffer];
  expect(text.toString()).toBe("held\n");
  return { end: () => hoarder.stdin.end() };
}

/** A policy before and after a pass over too many continuations, with little memory, and what the pass said. */
async function passed(
  engine: TorchEngine,
  continuations: number,
  take: () => Promise<() => void>,
): Promise<{ before: object; problem: string; after: object }> {
  await engine.createPolicy({ name: "p", model: await makeModel(temporaryFolder(), "model") });
  await engine.forwardBackward([datum(2)], { type: "cross_entropy" });
  const read = async (): Promise<Float32Array[]> => [
    await engine.readTensor("p", "weight", weight),
    await engine.readTensor("p", "gradient", weight),
  ];
  const before = await read();
  const giveBack = await take();
  const problem = await failure("no_memory", () =>
    engine.forwardBackward([datum(continuations)], { type: "cross_entropy" }),
  );
  giveBack();
  return { before, problem, after: await read() };
}

const says = /changed nothing: lower engine\.trunkTokens/;

describe.skipIf(python === undefined || device !== "cuda")("without memory of a GPU", () => {
  it("a pass changes nothing, and says what to lower", async () => {
    const engine = engineWith({ trunkTokens: 2_000_000, headTokens: 1_000_000 });
    const { before, problem, after } = await passed(engine, 40_000, async () => {
      const hoarder = await startHoarding(2 ** 26);
      return () => hoarder.end();
    });
    expect(problem).toMatch(says);
    expect(after).toEqual(before);
    await engine.close();
  });
});

describe.skipIf(python === undefined || process.platform !== "linux" || device !== "cpu")(
  "without memory",
  () => {
    it("a pass changes nothing, and says what to lower", async () => {
      let [pid, own] = [0, 0];
      const engine = new TorchEngine(
        new LastingWorker(() => {
          const worker = startWorker({ trunkTokens: 200_000 });
          pid = worker.pid ?? 0;
          return worker;
        }),
      );
      const { before, problem, after } = await passed(engine, 20_000, () => {
        own = pid;
        limit(pid, sizeOf(pid) + 2 ** 22);
        return Promise.resolve(() => limit(pid, "unlimited"));
      });
      expect(problem).toMatch(says);
      expect(after).toEqual(before);
      expect(pid).toBe(own);
      await engine.close();
    });
  },
);

it.skipIf(python === undefined)("what work needs is where it computes: on the GPU, if there is one", () => {
  const code = [
    "import json",
    "from troupe_torch.memory import placed",
    "print(json.dumps([placed(20.5, 100, None), placed(20.5, 100, 7)]))",
  ].join("\n");
  const env = { ...process.env, PYTHONPATH: fileURLToPath(new URL("../../../python", import.meta.url)) };
  const printed = execFileSync(python ?? "", ["-c", code], { env, encoding: "utf8" });
  expect(JSON.parse(printed)).toEqual([{ host: 120 }, { host: 100, device: 27 + 700 * 2 ** 20 }]);
});

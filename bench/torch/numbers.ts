/**
 * How far gradients, and weights after ten steps of AdamW, of both engines in float32 are from those of PyTorch in float64:
 *
 *   node bench/torch/numbers.ts [LOSS...]
 *
 * Of a Llama of 29 million parameters with random weights, as a whole and with an adapter. Both engines start with the same
 * numbers, also where the adapter has taken a step.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Datum, StoredPolicy } from "../../src/engines/engine.ts";
import { openEngine, torchPython } from "../../src/engines/open.ts";
import {
  adam,
  dataFor,
  firstStep,
  makeArchitecture,
  policyKinds,
  type ReadableEngine,
} from "../../src/engines/torch/testing/same-numbers.ts";
import { openOwn } from "../../src/engines/torch/testing/own-worker.ts";
import { openSafetensors } from "../../src/models/safetensors.ts";

const { losses } = policyKinds.adapter;
const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : ["cross_entropy", "ppo"];
const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
const steps = 10;

const preset = {
  hiddenSize: 512,
  layers: 8,
  heads: 8,
  keyValueHeads: 4,
  headSize: 64,
  intermediateSize: 1408,
  maxLength: 2048,
  tiedEmbeddings: true,
};

/** Little-endian float32, one file for each tensor. */
async function write(
  engine: ReadableEngine,
  kind: "gradient" | "weight",
  tensors: readonly string[],
  to: string,
) {
  mkdirSync(to, { recursive: true });
  for (const tensor of tensors) writeFileSync(join(to, tensor), await engine.readTensor("p", kind, tensor));
}

const listed = (data: readonly Datum[]): object[] =>
  data.map(({ prompt, continuations }) => ({
    prompt: [...prompt],
    continuations: continuations.map((each) =>
      Object.fromEntries(Object.entries(each).map(([name, values]) => [name, [...(values as Float32Array)]])),
    ),
  }));

try {
  const model = await makeArchitecture(folder, "llama", preset, 8000);
  const engines = {
    local: openEngine({ threads: 2, precision: "float32" }) as ReadableEngine,
    torch: openOwn({ threads: 2 }).engine,
  };
  for (const kind of ["whole model", "adapter"] as const)
    for (const name of names) {
      const place = join(folder, `${kind} ${name}`);
      const loss = losses[name];
      if (loss === undefined) throw new Error(`no loss ${name}; there is ${Object.keys(losses).join(", ")}`);
      const { options } = policyKinds[kind];
      const { local } = engines;
      await local.createPolicy({ ...options, name: "p", model });
      if ("adapter" in options) await firstStep(local, false);
      const data = await dataFor(local, loss);
      const saved = await local.snapshot("p", { folder: place, name: "start" });
      await local.removePolicy("p");
      const from: StoredPolicy = { saved, folder: place };
      const start = join(place, "start");
      const stem = "adapter" in options ? "adapter_model" : "model";
      const tensors = [...(await openSafetensors(join(start, `${stem}.safetensors`))).tensors.keys()];
      for (const [side, engine] of Object.entries(engines)) {
        await engine.createPolicy({ ...options, name: "p", model, from });
        for (let step = 0; step < steps; step++) {
          await engine.forwardBackward(data, loss);
          if (step === 0) await write(engine, "gradient", tensors, join(place, side, "gradient"));
          await engine.optimStep("p", adam);
        }
        await write(engine, "weight", tensors, join(place, side, "weight"));
        await engine.removePolicy("p");
      }
      const given = { kind, name, place, model, start, loss, adam, steps, data: listed(data), ...options };
      writeFileSync(join(place, "given.json"), JSON.stringify(given));
      const python = torchPython(undefined);
      const env = { ...process.env, PYTHONPATH: fileURLToPath(new URL("../../python", import.meta.url)) };
      const script = fileURLToPath(new URL("in_float64.py", import.meta.url));
      const { status } = spawnSync(python, [script, join(place, "given.json")], { stdio: "inherit", env });
      if (status !== 0) throw new Error(`the reference ended with ${status}`);
      rmSync(place, { recursive: true });
    }
  for (const engine of Object.values(engines)) await engine.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Engines of tests on few workers, one after the other: importing PyTorch takes seconds. Tests that need it are skipped
 * without TROUPE_TORCH_PYTHON, an interpreter with PyTorch and transformers.
 */
import { atEndOfFile } from "../../../test-end.ts";
import { torchSettings } from "../kind.ts";
import { python } from "./interpreter.ts";
import { TorchEngine } from "../torch-engine.ts";
import { TorchWorker } from "../worker.ts";

export { python };

/** A worker of its own, in float32 on one thread of the CPU. */
export function startWorker(changes: object = {}, log?: string, interpreter = python): TorchWorker {
  const {
    python: _,
    timeoutSeconds,
    ...settings
  } = torchSettings.parse({
    type: "torch",
    device: "cpu",
    threads: 1,
    ...changes,
  });
  return new TorchWorker({ python: interpreter ?? "python3", settings, timeoutSeconds, log });
}

const idle: TorchWorker[] = [];

function idleWorker(): TorchWorker {
  const found = idle.pop();
  if (found !== undefined) return found;
  const started = startWorker();
  atEndOfFile(() => started.close());
  return started;
}

/** Opens an engine on a shared worker. Closing it removes its policies, and the next engine gets the worker. */
export function openShared(): TorchEngine {
  const worker = idleWorker();
  let isClosed = false;
  return new TorchEngine({
    get ready() {
      return worker.ready;
    },
    get memoryBytes() {
      return worker.memoryBytes;
    },
    ask: (...given) => worker.ask(...given),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await worker.ask("clear", {});
      idle.push(worker);
    },
  });
}

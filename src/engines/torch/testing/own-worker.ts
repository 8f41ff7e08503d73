/** A worker of one's own, for tests and benchmarks: they look at its process, or end it. */
import { torchPython } from "../install.ts";
import { torchSettings } from "../kind.ts";
import { LastingWorker } from "../lasting-worker.ts";
import { TorchEngine } from "../torch-engine.ts";
import { TorchWorker } from "../worker.ts";
import { python } from "./interpreter.ts";

/** Where tests compute. */
export const device = process.env["TROUPE_TORCH_DEVICE"] ?? "cpu";

/** A worker of its own, in float32, by default on one thread of the CPU. */
export function startWorker(changes: object = {}, log?: string, interpreter = python): TorchWorker {
  const {
    python: _,
    timeoutSeconds,
    ...settings
  } = torchSettings.parse({
    type: "torch",
    device,
    precision: "float32",
    threads: 1,
    ...changes,
  });
  return new TorchWorker({ python: torchPython(interpreter), settings, timeoutSeconds, log });
}

/** An engine with settings of its own, and a worker of its own. */
export function engineWith(changes: object): TorchEngine {
  return new TorchEngine(new LastingWorker(() => startWorker(changes)));
}

/** An engine, and the processes that it starts, in their order. */
export function openOwn(
  changes: object = {},
  log?: string,
  interpreter = python,
): { engine: TorchEngine; processes: TorchWorker[] } {
  const processes: TorchWorker[] = [];
  const start = (): TorchWorker => {
    const worker = startWorker(changes, log, interpreter);
    processes.push(worker);
    return worker;
  };
  return { engine: new TorchEngine(new LastingWorker(start)), processes };
}

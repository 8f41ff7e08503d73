/** Starts a worker, prints its process id once it is ready, and waits to be killed. */
import { python } from "./interpreter.ts";
import { torchSettings } from "../kind.ts";
import { TorchWorker } from "../worker.ts";

const { python: _, timeoutSeconds, ...settings } = torchSettings.parse({ type: "torch", device: "cpu" });
const worker = new TorchWorker({ python: python ?? "python3", settings, timeoutSeconds });
await worker.ready;
console.log(worker.pid);

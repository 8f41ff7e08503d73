/**
 * Preloaded with `--import`. With CHAOS_THREADS=end each of the process's first worker threads ends at its fourth message,
 * unanswered; with `late` every 41st message reaches its thread after two seconds, as on a busy machine.
 */
import { syncBuiltinESMExports } from "node:module";
import threads from "node:worker_threads";

const ends = process.env["CHAOS_THREADS"] === "end";
const ending = 6;
let started = 0;
let messages = 0;

class DisturbedWorker extends threads.Worker {
  readonly #ends = ends && started++ < ending;
  #messages = 0;

  override postMessage(...values: Parameters<threads.Worker["postMessage"]>): void {
    messages += 1;
    this.#messages += 1;
    if (!ends && messages % 41 === 0) setTimeout(() => super.postMessage(...values), 2000);
    else super.postMessage(...values);
    if (this.#ends && this.#messages === 4) void this.terminate();
  }
}

threads.Worker = DisturbedWorker;
syncBuiltinESMExports();

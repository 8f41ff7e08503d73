/** Reads the tokens of a model directory in a thread of its own: those of a large vocabulary take long. */
import { parentPort, workerData } from "node:worker_threads";
import { loadCoder } from "../text/coder.ts";
import type { TokenTable } from "./token-views.ts";

function tableIn(directory: string): TokenTable {
  const { bytes, vocabulary } = loadCoder(directory);
  const all = bytes.all();
  const starts = new Uint32Array(all.lengths.length + 1);
  for (const [id, length] of all.lengths.entries()) starts[id + 1] = (starts[id] ?? 0) + length;
  return { bytes: all.bytes, starts, control: new Set(vocabulary.control.map(({ id }) => id)) };
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
parentPort?.postMessage(tableIn(workerData as string));

/**
 * Reads parquet files in a separate thread: damaged or hostile files can make the decoder loop, exhaust memory, or
 * throw outside any promise. All of these end the thread and become an error here.
 */
import { Worker } from "node:worker_threads";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { asRow, type ReadRow, type Row } from "./row.ts";

/** The compiled worker is JavaScript. */
const program = new URL(
  `./parquet-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);
/** Time limit for a row group, in milliseconds. */
const usualPatience = 5 * 60_000;
const resourceLimits = { maxOldGenerationSizeMb: 4096 };

type Answer = { readonly rows: readonly Row[] } | { readonly end: true } | { readonly failure: string };

/**
 * @param columns to read, if the file has them; absent: all
 * @throws TroupeError `bad_data` for a file that cannot be read
 */
export async function* readParquet(
  file: string,
  columns?: readonly string[],
  patience = usualPatience,
): AsyncGenerator<ReadRow> {
  const worker = new Worker(program, { workerData: { file, columns }, resourceLimits });
  const ended = endOf(worker);
  try {
    for (;;) {
      const answer = await nextGroup(worker, ended, patience);
      if ("failure" in answer)
        throw new TroupeError(
          "bad_data",
          `${file} cannot be read as a parquet file: ${showText(answer.failure, 300)}`,
        );
      if ("end" in answer) return;
      for (const row of answer.rows) yield asRow(row);
    }
  } finally {
    await worker.terminate();
  }
}

/** Resolves when the thread ends, for any reason. */
function endOf(worker: Worker): Promise<Answer> {
  return new Promise((resolve) => {
    worker.on("error", (error: Error) => resolve({ failure: error.message }));
    worker.on("exit", () => resolve({ failure: "the decoder ended" }));
  });
}

function nextGroup(worker: Worker, ended: Promise<Answer>, patience: number): Promise<Answer> {
  const late = `nothing was decoded in ${Math.round(patience / 1000)} seconds`;
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const timer = setTimeout(() => resolve({ failure: late }), patience);
  worker.once("message", resolve);
  // The rule is meant for windows of a browser.
  // eslint-disable-next-line unicorn/require-post-message-target-origin
  worker.postMessage("next");
  return Promise.race([promise, ended]).finally(() => {
    clearTimeout(timer);
    worker.off("message", resolve);
  });
}

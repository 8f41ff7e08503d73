/** The thread that decodes a parquet file: each message asks for the next rows. */
import { parentPort, workerData } from "node:worker_threads";
import { rowPortions } from "./parquet-rows.ts";

const { file, columns } = workerData as { readonly file: string; readonly columns?: readonly string[] };
const portions = rowPortions(file, columns);

parentPort?.on("message", () => {
  portions.next().then(
    ({ done, value }) => answer(done === true ? { end: true } : { rows: value }),
    (error: unknown) => answer({ failure: (error as Error).message }),
  );
});

function answer(message: object): void {
  // The rule is meant for windows of a browser.
  // eslint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(message);
}

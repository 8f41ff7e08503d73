/** Shows the downloads that a command causes, and lets Ctrl-C end them: `troupe train` with a data set not in the cache. */
import type { OpenOptions } from "../../data/open.ts";
import { printNote } from "../print.ts";
import { listenForStop } from "../stopping.ts";
import { showProgress } from "./progress.ts";

export async function attendDownloads<T>(work: (options: OpenOptions) => Promise<T>): Promise<T> {
  using progress = showProgress();
  using stopping = stoppingDownloads();
  return await work({ ...progress.options, signal: stopping.stop });
}

export function stoppingDownloads() {
  return listenForStop(() => printNote("stopping; the same command resumes the download"));
}

/** The progress of a download on standard error: a line that is redrawn on a terminal, otherwise occasional lines. */
import type { ListedFile } from "../../data/hub/listing.ts";
import type { OpenOptions } from "../../data/open.ts";
import { showBytes, showCount, showShare, showText } from "../../format.ts";
import { listenForStop } from "../exit.ts";
import { printNote } from "../print.ts";

/** Milliseconds between two lines if they are not redrawn. */
const pause = 10_000;
const redraw = 100;

export interface Progress extends Disposable {
  readonly options: Pick<OpenOptions, "progress" | "waiting" | "prepared">;
  /** Solutions run so far. */
  readonly ran: (done: number, of: number) => void;
}

export function showProgress(output: NodeJS.WriteStream = process.stderr): Progress {
  let last = performance.now();
  let isDrawn = false;
  const clear = (): void => {
    if (isDrawn) output.write("\r\u001b[K");
    isDrawn = false;
  };
  const say = (line: string, isLast: boolean): void => {
    const now = performance.now();
    if (!isLast && now - last < (output.isTTY ? redraw : pause)) return;
    last = now;
    clear();
    const text = showText(line, (output.columns ?? 120) - 1);
    output.write(isLast || !output.isTTY ? `${text}\n` : text);
    isDrawn = !isLast && output.isTTY;
  };
  return {
    options: {
      progress: (file, bytes) => say(transferLine(file, bytes), bytes === file.size),
      waiting: (file) => say(`${file.path}: another process downloads it; waiting`, true),
      prepared: (split, rows) => say(`${split}: ${showCount(rows)} rows read`, false),
    },
    ran: (done, of) => say(`${showCount(done)} of ${showCount(of)} solutions run`, false),
    [Symbol.dispose]: clear,
  };
}

function transferLine({ path, size }: ListedFile, bytes: number): string {
  if (bytes === size) return `${path}  ${showBytes(size)}`;
  return `${path}  ${showBytes(bytes)} of ${showBytes(size)}  ${showShare(bytes / size)}`;
}

/** Shows the downloads that a command causes, and lets Ctrl-C end them: `troupe train` with a data set not in the cache. */
export async function attendDownloads<T>(work: (options: OpenOptions) => Promise<T>): Promise<T> {
  using progress = showProgress();
  using stopping = stoppingDownloads();
  return await work({ ...progress.options, signal: stopping.stop });
}

export function stoppingDownloads() {
  return listenForStop(() => printNote("stopping; the same command resumes the download"));
}

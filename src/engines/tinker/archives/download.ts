/** Saved weights of a server as a directory of this machine. */
import { readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { get as plainGet, type IncomingMessage } from "node:http";
import { get as secureGet } from "node:https";
import { retrying } from "../../../calls/retry.ts";
import { ServiceError, TroupeError } from "../../../errors.ts";
import { isPresentSync } from "../../../present.ts";
import { writeDirectoryDurably } from "../../../runs/durable.ts";
import { checkpointPath } from "../client/session.ts";
import { expanded, tooLong, extractTar } from "./archive.ts";

export interface Place {
  readonly url: string;
  readonly key?: string | undefined;
}

export interface DownloadOptions {
  /** What these weights can have at most, with the optimizer's state. Absent: 4 TiB. */
  readonly mostBytes?: number | undefined;
}

/** Redirects, and as many answers that an archive is still being made. */
const mostTries = 60;
/** Milliseconds without a byte. */
const silence = 60_000;
/** Larger than the weights and the optimizer of any model that servers train. */
const mostOfAny = 2 ** 42;

/**
 * Downloads the archive of saved weights (`tinker://RUN/KIND/NAME`) into a new directory, whole or not at all.
 * @throws TroupeError `unsupported` if the server makes no archives, `bad_model` if it sends something other than files
 * of this size, ServiceError if it cannot be reached
 */
export async function downloadCheckpoint(
  place: Place,
  path: string,
  directory: string,
  options: DownloadOptions = {},
): Promise<void> {
  const { mostBytes = mostOfAny } = options;
  if (isPresentSync(directory))
    throw new TroupeError("bad_arguments", `${directory} exists; choose a new directory.`);
  const url = new URL(`${place.url.replace(/\/+$/, "")}/api/v1/${checkpointPath(path)}/archive`);
  const response = await archiveAt(url, place);
  await writeDirectoryDurably(directory, async (temporary) => {
    try {
      if (Number(response.headers["content-length"] ?? 0) > mostBytes) throw tooLong(mostBytes);
      await extractTar(expanded(response, mostBytes), temporary);
      if (readdirSync(temporary).length === 0) throw new ServiceError("The archive is empty.");
    } catch (error) {
      // Large, and of no use to a second try.
      await rm(temporary, { recursive: true, force: true });
      throw isOfDisk(error) ? error : brokenOff(error, url);
    } finally {
      response.destroy(); // it may go on for ever
    }
  });
}

function isOfDisk(error: unknown): boolean {
  const { syscall, code } = error as NodeJS.ErrnoException;
  return syscall !== undefined && code !== "ECONNRESET" && code !== "ETIMEDOUT";
}

/** What the connection and the decompression throw. */
function brokenOff(error: unknown, { origin }: URL): TroupeError {
  if (error instanceof TroupeError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new ServiceError(`The archive of ${origin} broke off or is damaged: ${why}. Download it again.`, {
    cause: error,
  });
}

/** The server is still making the archive, or busy. */
class NotReady extends ServiceError {}

/** Asks until the archive is made. */
async function archiveAt(first: URL, place: Place): Promise<IncomingMessage> {
  const isRetried = (error: ServiceError, tries: number): boolean =>
    error instanceof NotReady && tries + 1 < mostTries;
  // It says itself when to ask again.
  const retries = { retries: mostTries, firstDelay: 0, longestDelay: 0, isRetried };
  return retrying(() => redirected(first, place), retries);
}

/** Follows redirects, without the key when they lead to another server. */
async function redirected(first: URL, { key }: Place): Promise<IncomingMessage> {
  let url = first;
  for (let redirects = 0; redirects < mostTries; redirects++) {
    const response = await get(
      url,
      key !== undefined && url.origin === first.origin ? { "x-api-key": key } : {},
    );
    const { statusCode: status = 0, headers } = response;
    if (status >= 200 && status < 300) return response;
    const next = headers.location === undefined ? null : URL.parse(headers.location, url);
    const isRedirect = status >= 300 && status < 400 && next !== null;
    if (!isRedirect && status !== 429 && status !== 503) throw await rejection(response, first);
    response.destroy();
    if (!isRedirect)
      throw new NotReady(`${first.origin} does not finish the archive.`, {
        retryAfter: pauseOf(headers["retry-after"]),
      });
    url = next;
  }
  throw new ServiceError(`${first.origin} redirects without an end.`);
}

/** Without decompressing, unlike `fetch`: how much was received limits how long an archive may be. */
function get(url: URL, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const fail = (cause: Error): void =>
    reject(new ServiceError(`${url.origin} cannot be reached: ${cause.message || String(cause)}`, { cause }));
  if (url.protocol !== "http:" && url.protocol !== "https:")
    fail(new Error(`${url.protocol} is no HTTP address`));
  else {
    const request = (url.protocol === "https:" ? secureGet : plainGet)(
      url,
      { headers, agent: false },
      resolve,
    );
    request.setTimeout(silence, () => request.destroy(new Error(`nothing came for ${silence} ms`)));
    request.on("error", fail);
  }
  return promise;
}

function pauseOf(retryAfter: string | undefined): number {
  const seconds = Number(retryAfter);
  return Math.min(30, seconds > 0 ? seconds : 2) * 1000;
}

async function rejection(response: IncomingMessage, { origin }: URL): Promise<TroupeError> {
  const { statusCode: status = 0 } = response;
  const message = `${origin} returned no archive (HTTP ${status}): ${await beginningOf(response)}`;
  if (status !== 404 && status !== 405) return new ServiceError(message);
  const fix = "If it makes none, use its own tool, for the hosted service `tinker checkpoint download`.";
  return new TroupeError("unsupported", `${message} ${fix}`);
}

async function beginningOf(response: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const piece of response) {
    text += piece.toString("utf8");
    if (text.length >= 300) break;
  }
  return text.slice(0, 300);
}

/** Saved weights of a server as a directory of this machine. */
import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { pipeline, Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { checkArgument, pathSchema } from "../../../arguments.ts";
import { ServiceError, TroupeError } from "../../../errors.ts";
import { writeDirectoryDurably } from "../../../runs/durable.ts";
import { checkpointPath, textSchema } from "../client/checkpoints.ts";
import { extractTar } from "./tar.ts";

export interface Place {
  readonly url: string;
  readonly key?: string | undefined;
}

/** Answers that an archive is still being made. */
const mostPauses = 60;

const placeSchema = z.looseObject({ url: z.url("expected an HTTP address"), key: z.string().optional() });

/**
 * Downloads the archive of saved weights (`tinker://RUN/KIND/NAME`) into a new directory, whole or not at all.
 * @throws TroupeError `unsupported` if the server makes no archives, ServiceError if it cannot be reached
 */
export async function downloadCheckpoint(place: Place, path: string, directory: string): Promise<void> {
  checkArgument("place", placeSchema, place);
  checkArgument("path", textSchema, path);
  checkArgument("directory", pathSchema, directory);
  if (existsSync(directory))
    throw new TroupeError("bad_arguments", `${directory} exists; choose a new directory.`);
  const url = new URL(`${place.url.replace(/\/+$/, "")}/api/v1/${checkpointPath(path)}/archive`);
  const response = await archiveAt(url, place);
  if (response.body === null) throw new ServiceError(`${url.origin} returned an empty archive.`);
  const body = Readable.fromWeb(response.body);
  await writeDirectoryDurably(directory, async (temporary) => {
    try {
      await extractTar(await plain(body), temporary);
      if (readdirSync(temporary).length === 0) throw new ServiceError("The archive is empty.");
    } catch (error) {
      // Large, and of no use to a second try.
      await rm(temporary, { recursive: true, force: true });
      throw isOfDisk(error) ? error : brokenOff(error, url);
    }
  });
}

function isOfDisk(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined;
}

/** What the connection and the decompression throw. */
function brokenOff(error: unknown, { origin }: URL): TroupeError {
  if (error instanceof TroupeError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new ServiceError(`The archive of ${origin} broke off or is damaged: ${why}. Download it again.`, {
    cause: error,
  });
}

/** Follows redirects, without the key when they lead to another server. */
async function archiveAt(first: URL, { key }: Place): Promise<Response> {
  let url = first;
  for (let tries = 0; tries < mostPauses; tries++) {
    const headers = key !== undefined && url.origin === first.origin ? { "x-api-key": key } : {};
    const response = await fetch(url, { headers, redirect: "manual" }).catch((cause: unknown) => {
      throw new ServiceError(`${url.origin} cannot be reached: ${String(cause)}`, { cause });
    });
    const { status } = response;
    if (response.ok) return response;
    const location = response.headers.get("location");
    const next = location === null ? null : URL.parse(location, url);
    if (status >= 300 && status < 400 && next !== null) url = next;
    else if (status === 429 || status === 503) await delay(pauseOf(response));
    else throw await rejection(response, first);
  }
  throw new ServiceError(`${first.origin} does not finish the archive.`);
}

function pauseOf(response: Response): number {
  const seconds = Number(response.headers.get("retry-after"));
  return Math.min(30, seconds > 0 ? seconds : 2) * 1000;
}

async function rejection(response: Response, { origin }: URL): Promise<TroupeError> {
  const text = (await response.text()).slice(0, 300);
  const message = `${origin} returned no archive (HTTP ${response.status}): ${text}`;
  if (response.status !== 404 && response.status !== 405) return new ServiceError(message);
  const fix = "If it makes none, use its own tool, for the hosted service `tinker checkpoint download`.";
  return new TroupeError("unsupported", `${message} ${fix}`);
}

/** Without gzip, which some servers add. */
async function plain(body: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer>> {
  const pieces = body[Symbol.asyncIterator]();
  const { value: start, done } = await pieces.next();
  if (done === true) throw new ServiceError("The archive is empty.");
  const whole = Readable.from(
    (async function* () {
      yield start;
      yield* { [Symbol.asyncIterator]: () => pieces };
    })(),
  );
  const isCompressed = start[0] === 0x1f && start[1] === 0x8b;
  return isCompressed ? pipeline(whole, createGunzip(), () => undefined) : whole;
}

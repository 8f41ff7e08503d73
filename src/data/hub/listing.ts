/** The files of a data set's revision, requested from the hub. */
import { z } from "zod";
import { TooLongError, wholeBody } from "../../calls/http.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { checkCancelled, type Digest } from "../cache.ts";
import {
  get,
  hubRedact,
  hubUrl,
  reasonOf,
  retryingHub,
  showUrl,
  SilenceTimer,
  type HubAccess,
} from "./requests.ts";

const commitName = /^[0-9a-f]{40}$/;

const listedFile = z.strictObject({
  path: z.string(),
  size: z.int().nonnegative(),
  digest: z.strictObject({
    algorithm: z.enum(["sha256", "git"]),
    hex: z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/),
  }),
});
export type ListedFile = z.infer<typeof listedFile>;

/** As it is in the cache. */
export const listingSchema = z.strictObject({
  dataset: z.string(),
  commit: z.string().regex(commitName),
  files: z.array(listedFile),
  /** The configurations in the data set's card, unchecked. */
  configs: z.unknown(),
});
export type Listing = z.infer<typeof listingSchema>;

const information = z.object({
  sha: z.string().regex(commitName),
  cardData: z.object({ configs: z.unknown().optional() }).nullish(),
});

const treeEntry = z.object({
  type: z.string(),
  path: z.string(),
  size: z.int().nonnegative().optional(),
  oid: z.string().optional(),
  lfs: z.object({ oid: z.string(), size: z.int().nonnegative() }).nullish(),
});

const mostPages = 200;

/** @throws TroupeError `bad_data`, `cancelled`; ServiceError after the last try */
export async function listFiles(
  access: HubAccess,
  dataset: string,
  revision: string,
  signal?: AbortSignal,
): Promise<Listing> {
  // A revision such as refs/convert/parquet is one segment.
  const url = new URL(
    `${hubUrl(access, "api/datasets", dataset, "revision").href}/${encodeURIComponent(revision)}`,
  );
  const { sha, cardData } = (await ask(access, url, information, signal)).answer;
  if (commitName.test(revision) && sha !== revision)
    throw new TroupeError("bad_data", `${showUrl(url)} gives another commit, ${sha}; try another hub`);
  const files: ListedFile[] = [];
  let next: URL | null = hubUrl(access, "api/datasets", dataset, "tree", sha);
  next.search = "?recursive=true";
  for (let page = 0; next !== null; page++) {
    if (page === mostPages) throw new TroupeError("bad_data", `${showUrl(next)} has no last page`);
    const place: URL = next;
    const entries: Answered<z.infer<typeof treeEntry>[]> = await ask(
      access,
      place,
      z.array(treeEntry),
      signal,
    );
    for (const entry of entries.answer) if (entry.type === "file") files.push(fileOf(entry, place));
    ({ next } = entries);
  }
  return { dataset, commit: sha, files, configs: cardData?.configs ?? null };
}

function fileOf({ path, size, oid, lfs }: z.infer<typeof treeEntry>, url: URL): ListedFile {
  const large = lfs?.oid.replace(/^sha256:/, "");
  const digest: Digest = { algorithm: large ? "sha256" : "git", hex: large ?? oid ?? "" };
  const isWhole = (large ? /^[0-9a-f]{64}$/ : commitName).test(digest.hex);
  const isPath = path.split("/").every((step) => !["", ".", ".."].includes(step));
  const bytes = lfs?.size ?? size;
  if (isWhole && isPath && bytes !== undefined) return { path, size: bytes, digest };
  const problem = `lists ${showText(path, 100)} without a checksum, a size or a proper path`;
  throw new TroupeError(
    "bad_data",
    `${showUrl(url)} ${problem}; it is no Hugging Face hub, or another version of one`,
  );
}

interface Answered<T> {
  readonly answer: T;
  /** The next page; null: this is the last. */
  readonly next: URL | null;
}

function ask<T>(
  access: HubAccess,
  url: URL,
  schema: z.ZodType<T>,
  signal: AbortSignal | undefined,
): Promise<Answered<T>> {
  const attempt = async (): Promise<Answered<T>> => {
    using silence = new SilenceTimer(access, signal);
    const response = await get(access, url, {}, silence.signal);
    const text = await readText(response, url, silence);
    const { data, error } = schema.safeParse(hubRedact(access)(parse(text, access, url)));
    if (error === undefined) return { answer: data, next: nextPage(access, response, url) };
    const problem = z.prettifyError(error).split("\n")[0] ?? "";
    throw new TroupeError("bad_data", `${showUrl(url)} answers in another form than a hub: ${problem}`);
  };
  return retryingHub(access, attempt, signal);
}

/** Largest page of a listing. */
const largestAnswer = 64 * 1024 * 1024;

async function readText(response: Response, url: URL, silence: SilenceTimer): Promise<string> {
  try {
    const body = await wholeBody(response.body, largestAnswer, () => silence.heard());
    return body.toString("utf8");
  } catch (error) {
    checkCancelled(silence.signal);
    if (error instanceof TooLongError)
      throw new TroupeError("bad_data", `${showUrl(url)} answers with too much`, { cause: error });
    throw new ServiceError(`${showUrl(url)} broke off: ${reasonOf(error)}`, { cause: error });
  }
}

function parse(text: string, access: HubAccess, url: URL): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Another page, such as that of a captive portal. The cause would quote it, with a part of the token perhaps.
    const said = showText(hubRedact(access)(text), 80);
    throw new TroupeError("bad_data", `${showUrl(url)} answers with no JSON: ${said}`);
  }
}

/** `Link: <URL>; rel="next"`; only of the same hub. */
function nextPage(access: HubAccess, response: Response, url: URL): URL | null {
  const link = /<([^>]*)>\s*;\s*rel="?next"?/.exec(response.headers.get("link") ?? "")?.[1];
  const next = link === undefined ? null : URL.parse(link, url);
  return next?.origin === access.endpoint.origin ? next : null;
}

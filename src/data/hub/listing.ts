/** The files of a data set's revision: requested from the hub once, then read from the cache. */
import { z } from "zod";
import { TooLongError, wholeBody } from "../../calls/http.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { checkCancelled } from "../cancel.ts";
import { hubRedact, hubUrl, showUrl, type HubAccess } from "./access.ts";
import { get, reasonOf, retryingHub, SilenceTimer } from "./request.ts";

export interface Digest {
  /** `git`: git's SHA-1, for files too small for large-file storage. */
  readonly algorithm: "sha256" | "git";
  readonly hex: string;
}

export interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly digest: Digest;
}

export interface Listing {
  readonly dataset: string;
  readonly commit: string;
  readonly files: readonly ListedFile[];
  /** The configurations in the data set's card, unchecked. */
  readonly configs: unknown;
}

/** Largest page of a listing. */
const largestAnswer = 64 * 1024 * 1024;
const mostPages = 200;

const digestSchema = z.strictObject({
  algorithm: z.enum(["sha256", "git"]),
  hex: z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/),
});
export const listingSchema: z.ZodType<Listing> = z.strictObject({
  dataset: z.string(),
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  files: z.array(z.strictObject({ path: z.string(), size: z.int().nonnegative(), digest: digestSchema })),
  configs: z.unknown(),
});

const information = z.object({
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  cardData: z.object({ configs: z.unknown().optional() }).nullish(),
});

const treeEntry = z.object({
  type: z.string(),
  path: z.string(),
  size: z.int().nonnegative().optional(),
  oid: z.string().optional(),
  lfs: z.object({ oid: z.string(), size: z.int().nonnegative() }).nullish(),
});

/** @throws TroupeError `bad_data`, `cancelled`; ServiceError after the last try */
export async function listFiles(
  access: HubAccess,
  dataset: string,
  revision: string,
  signal?: AbortSignal,
): Promise<Listing> {
  const url = hubUrl(access, "api/datasets", dataset, "revision").href + `/${encodeURIComponent(revision)}`;
  const { sha, cardData } = await getJson(access, new URL(url), information, signal);
  if (/^[0-9a-f]{40}$/.test(revision) && sha !== revision)
    throw new TroupeError(
      "bad_data",
      `${showUrl(new URL(url))} gives another commit, ${sha}; try another hub`,
    );
  const files = await listTree(access, dataset, sha, signal);
  return { dataset, commit: sha, files, configs: cardData?.configs ?? null };
}

async function listTree(
  access: HubAccess,
  dataset: string,
  commit: string,
  signal: AbortSignal | undefined,
): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  let url: URL | null = hubUrl(access, "api/datasets", dataset, "tree", commit);
  url.search = "?recursive=true";
  for (let page = 0; url !== null; page++) {
    if (page === mostPages) throw new TroupeError("bad_data", `${showUrl(url)} has no last page`);
    const { value, next }: Page<z.infer<typeof treeEntry>[]> = await getPage(
      access,
      url,
      z.array(treeEntry),
      signal,
    );
    for (const entry of value) if (entry.type === "file") files.push(fileOf(entry, url));
    url = next;
  }
  return files;
}

function fileOf({ path, size, oid, lfs }: z.infer<typeof treeEntry>, url: URL): ListedFile {
  const large = lfs?.oid.replace(/^sha256:/, "");
  const digest: Digest = { algorithm: large ? "sha256" : "git", hex: large ?? oid ?? "" };
  const isWhole = new RegExp(large ? "^[0-9a-f]{64}$" : "^[0-9a-f]{40}$").test(digest.hex);
  const isPath = path.split("/").every((step) => !["", ".", ".."].includes(step));
  const bytes = lfs?.size ?? size;
  if (isWhole && isPath && bytes !== undefined) return { path, size: bytes, digest };
  const problem = `lists ${showText(path, 100)} without a checksum, a size or a proper path`;
  throw new TroupeError(
    "bad_data",
    `${showUrl(url)} ${problem}; it is no Hugging Face hub, or another version of one`,
  );
}

async function getJson<T>(
  access: HubAccess,
  url: URL,
  schema: z.ZodType<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return (await getPage(access, url, schema, signal)).value;
}

interface Page<T> {
  readonly value: T;
  readonly next: URL | null;
}

function getPage<T>(
  access: HubAccess,
  url: URL,
  schema: z.ZodType<T>,
  signal: AbortSignal | undefined,
): Promise<Page<T>> {
  return retryingHub(
    access,
    async () => {
      using silence = new SilenceTimer(access.longestSilence, signal);
      const response = await get(access, url, {}, silence.signal);
      const text = await readText(response, url, silence);
      const value = schema.safeParse(hubRedact(access)(parse(text, access, url)));
      if (value.success) return { value: value.data, next: nextPage(access, response, url) };
      const problem = z.prettifyError(value.error).split("\n")[0] ?? "";
      throw new TroupeError("bad_data", `${showUrl(url)} answers in another form than a hub: ${problem}`);
    },
    signal,
  );
}

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

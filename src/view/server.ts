/**
 * The viewer's server, for a browser on this machine. Other web pages in that browser cannot use it: requests name this
 * machine as their host (against DNS rebinding) and come from no other page, and answers are JSON, which no page of
 * another origin can read. The page itself may load nothing from elsewhere.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { z } from "zod";
import { wholeBody, TooLongError } from "../calls/http.ts";
import { listenAt } from "../calls/listen.ts";
import { TroupeError } from "../errors.ts";
import { jsonOrNull } from "../json.ts";
import type { Problem, ContinueEvent, ContinueRequest } from "./api.ts";
import { filterIn, numberIn } from "./filter.ts";
import type { ListRequest, ViewedRun } from "./run.ts";
import type { ViewedRuns } from "./runs.ts";

export interface ViewServerOptions {
  readonly runs: ViewedRuns;
  /** The page, one file of HTML that says what it may load. */
  readonly page: () => Promise<string>;
  readonly port: number;
  /** Continues an episode from a recorded state, and tells what happens. */
  readonly continueFrom: (
    run: ViewedRun,
    request: ContinueRequest,
    emit: (event: ContinueEvent) => void,
    signal: AbortSignal,
  ) => Promise<void>;
}

/** What is wrong with a request. */
class BadRequest extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const headers = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

export interface ViewServer extends AsyncDisposable {
  readonly url: string;
}

/** @throws TroupeError `bad_arguments` if the port is in use */
export async function startViewServer(options: ViewServerOptions): Promise<ViewServer> {
  const server = createServer((request, response) => void answer(options, request, response));
  const url = await listenAt(server, { host: "127.0.0.1", port: options.port });
  return { url, [Symbol.asyncDispose]: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  return promise;
}

async function answer(
  options: ViewServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { pathname, searchParams } = addressOf(request);
    const isPage = pathname === "/" && request.method === "GET";
    checkCaller(request, isPage);
    if (isPage) return await sendPage(options.page, response);
    if (!pathname.startsWith("/api/")) throw new BadRequest(404, "There is nothing at this address.");
    await answerApi(options, pathname.slice(5).split("/").map(decoded), searchParams, request, response);
  } catch (error) {
    sendProblem(response, error);
  }
}

const names: ReadonlySet<string> = new Set(["127.0.0.1", "localhost"]);

/** @throws BadRequest for a request that a page of another site may have made */
function checkCaller({ headers: given }: IncomingMessage, isPage: boolean): void {
  const { origin, "sec-fetch-site": site } = given;
  const host = (given.host ?? "").toLowerCase();
  if (!names.has(host.replace(/:\d+$/, "")))
    throw new BadRequest(
      403,
      `This server answers at 127.0.0.1 and localhost, not at ${host.slice(0, 100)}.`,
    );
  const isForeign = origin !== undefined && origin.toLowerCase() !== `http://${host}`;
  // A link elsewhere may open the page, whose address is a view; the page that has the link sees nothing of it.
  const isOpened = given["sec-fetch-mode"] === "navigate" && given["sec-fetch-dest"] === "document";
  const isOther = (site === "cross-site" || site === "same-site") && !(isPage && isOpened);
  if (isForeign || isOther) throw new BadRequest(403, "This server answers only its own page.");
}

/** @throws BadRequest */
function addressOf({ url = "/" }: IncomingMessage): URL {
  const found = url.startsWith("/") && !url.startsWith("//") ? URL.parse(url, "http://127.0.0.1") : null;
  if (found === null) throw new BadRequest(400, "The address is not a path of this server.");
  return found;
}

/** @throws BadRequest */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new BadRequest(400, "The address has invalid percent-encoding.");
  }
}

/** The page has a policy of its own, which allows its own program only. */
async function sendPage(page: ViewServerOptions["page"], response: ServerResponse): Promise<void> {
  const bytes = Buffer.from(await page());
  response.writeHead(200, {
    ...headers,
    "content-security-policy": "frame-ancestors 'none'",
    "content-type": "text/html; charset=utf-8",
    "content-length": bytes.length,
  });
  response.end(bytes);
}

async function answerApi(
  { runs, continueFrom }: ViewServerOptions,
  path: readonly string[],
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [what = "", name = "", part = ""] = path;
  const continues = what === "runs" && part === "continue" && path.length === 3;
  const expected = continues ? "POST" : "GET";
  if (request.method !== expected) throw new BadRequest(405, `Use ${expected} here.`);
  if (what === "changes" && path.length === 1) return sendChanges(runs, request, response);
  if (what === "compare" && path.length === 1)
    return sendJson(response, 200, await runs.compare(listIn(query.get("runs"))));
  if (what !== "runs" || path.length > 3) throw new BadRequest(404, "There is nothing at this address.");
  if (path.length === 1) return sendJson(response, 200, await runs.lines());
  const run = await runs.find(name);
  if (run === null) throw new BadRequest(404, `The viewer shows no run ${name.slice(0, 200)}.`);
  if (part === "file") return sendFile(response, await run.file(wanted(query, "hash")));
  if (continues) return sendContinuations(continueFrom, run, requestIn(await bodyOf(request)), response);
  const ofRun = Object.hasOwn(answers, part) ? answers[part] : undefined;
  if (ofRun === undefined) throw new BadRequest(404, "There is nothing at this address.");
  sendJson(response, 200, await ofRun(run, query));
}

/** What is asked about a run and answered in JSON, by the last part of the address. */
const answers: Readonly<Record<string, (run: ViewedRun, query: URLSearchParams) => Promise<unknown>>> = {
  "": (run) => run.page(),
  curves: (run, query) => run.curves(query.has("of") ? listIn(query.get("of")) : undefined),
  episodes: async (run, query) => run.list(understood(() => listRequestIn(query))),
  episode: async (run, query) =>
    run.episode(
      wanted(query, "id"),
      understood(() => filterIn(query)),
    ),
  action: async (run, query) => run.action(wanted(query, "episode"), wanted(query, "action")),
};

/** @throws TroupeError `bad_arguments` */
function listRequestIn(query: URLSearchParams): ListRequest {
  return {
    filter: filterIn(query),
    cursor: numberIn(query, "cursor", { least: 0, most: Number.MAX_SAFE_INTEGER }),
    limit: numberIn(query, "limit", { least: 1, most: 200 }) ?? 50,
  };
}

/** What was asked badly is not what is not there. @throws BadRequest */
function understood<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof TroupeError ? new BadRequest(400, error.message) : error;
  }
}

/** @throws BadRequest */
function wanted(query: URLSearchParams, key: string): string {
  const value = query.get(key);
  if (value === null) throw new BadRequest(400, `The address lacks \`${key}\`.`);
  return value;
}

function listIn(given: string | null): string[] {
  return (given ?? "").split(",").filter((one) => one !== "");
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const bytes = Buffer.from(JSON.stringify(value));
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json; charset=utf-8",
    "content-length": bytes.length,
  });
  response.end(bytes);
}

function sendProblem(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const problem: Problem = { error: (error as Error).message };
  if (error instanceof BadRequest) return sendJson(response, error.status, problem);
  if (error instanceof TroupeError) {
    const isAsked = error.code === "bad_arguments";
    return sendJson(response, isAsked ? 404 : 500, problem);
  }
  sendJson(response, 500, { error: `Internal error in the viewer: ${problem.error}` });
}

const pictures: readonly (readonly [type: string, start: readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
];

/** Only pictures of dots and plain text are shown; a program may have written anything. */
function sendFile(response: ServerResponse, bytes: Uint8Array): void {
  const picture = pictures.find(([, start]) => start.every((byte, at) => bytes[at] === byte))?.[0];
  const type = picture ?? (isText(bytes) ? "text/plain; charset=utf-8" : "application/octet-stream");
  response.writeHead(200, {
    ...headers,
    "content-security-policy": "default-src 'none'; sandbox",
    "content-type": type,
    "content-length": bytes.length,
    ...(type === "application/octet-stream" ? { "content-disposition": "attachment" } : {}),
  });
  response.end(bytes);
}

function isText(bytes: Uint8Array): boolean {
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(bytes).includes("\0");
  } catch {
    return false;
  }
}

/** Milliseconds between looks at the runs. */
const every = 1000;

function sendChanges(runs: ViewedRuns, request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { ...headers, "content-type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
  const sent = new Map<string, string>();
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      for (const change of await runs.changes()) {
        const text = JSON.stringify(change);
        if (sent.get(change.run) === text) continue;
        sent.set(change.run, text);
        response.write(`data: ${text}\n\n`);
      }
    } catch {
      // The next look may succeed: a run is being removed, or a disk is away.
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), every);
  void look();
  request.on("close", () => clearInterval(timer));
}

const longestBody = 2 ** 16;

async function bodyOf(request: IncomingMessage): Promise<string> {
  // A form of another page cannot send this type.
  if (!(request.headers["content-type"] ?? "").startsWith("application/json"))
    throw new BadRequest(415, "Send JSON, with the header `content-type: application/json`.");
  try {
    return (await wholeBody(request.iterator({ destroyOnReturn: false }), longestBody)).toString("utf8");
  } catch (error) {
    if (error instanceof TooLongError) throw new BadRequest(413, `The request has ${error.message}.`);
    throw error;
  }
}

const continueSchema = z.strictObject({
  episode: z.string(),
  node: z.string(),
  samples: z.int().min(1).max(64),
  greedy: z.boolean().optional(),
  step: z.int().min(1).optional(),
});

/** @throws BadRequest */
function requestIn(body: string): ContinueRequest {
  const parsed = continueSchema.safeParse(jsonOrNull(body));
  if (parsed.success) return parsed.data as ContinueRequest;
  const [issue] = parsed.error.issues;
  throw new BadRequest(
    400,
    `The request is not understood: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`,
  );
}

/** What fails once it has begun is the last event. It ends when the page is gone. */
async function sendContinuations(
  continueFrom: ViewServerOptions["continueFrom"],
  run: ViewedRun,
  asked: ContinueRequest,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.writeHead(200, { ...headers, "content-type": "application/jsonl; charset=utf-8" });
  const emit = (event: ContinueEvent): void => void response.write(`${JSON.stringify(event)}\n`);
  try {
    await continueFrom(run, asked, emit, gone.signal);
  } catch (error) {
    emit({ type: "problem", error: (error as Error).message });
  }
  response.end();
}

/** One request to an OTLP receiver. Source: opentelemetry.io/docs/specs/otlp, "OTLP/HTTP". */
import { gzipSync } from "node:zlib";
import { showText } from "../../format.ts";
import { SinkError } from "../sink.ts";

export interface Receiver {
  readonly url: string;
  /** May hold keys. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for one request. */
  readonly patience?: number;
}

/** Milliseconds for one request. */
const usualPatience = 10_000;
const longestResponse = 2 ** 20;

/** @returns the body of the response @throws SinkError if the receiver did not take it */
export async function post(
  { url, headers, patience = usualPatience }: Receiver,
  body: Buffer,
): Promise<Buffer> {
  const compressed = new Uint8Array(gzipSync(body));
  const own = { "content-type": "application/x-protobuf", "content-encoding": "gzip" };
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, ...own },
      body: compressed,
      // A key must not follow to another host.
      redirect: "error",
      signal: AbortSignal.timeout(patience),
    });
    const answer = await shortBody(response);
    if (!response.ok) throw rejection(url, response, answer);
    return answer;
  } catch (error) {
    if (error instanceof SinkError) throw error;
    throw new SinkError(`${url} cannot be reached: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** A receiver's address and its answer are short; what is beyond a limit is left. */
async function shortBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > longestResponse) break;
  }
  return Buffer.concat(chunks);
}

/** Requests that the specification calls not retryable, other than a server's own failures. */
function rejection(url: string, { status, headers }: Response, answer: Buffer): SinkError {
  const isPermanent = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const wait = Number(headers.get("retry-after"));
  const retryAfterSeconds = Number.isFinite(wait) ? Math.max(0, wait) : 0;
  const said = showText(answer.toString("utf8"), 200);
  return new SinkError(`${url} answered ${status}${said === "" ? "" : `: ${said}`}`, {
    isPermanent,
    retryAfterSeconds,
  });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "it did not answer in time";
  return error.cause instanceof Error ? error.cause.message : error.message;
}

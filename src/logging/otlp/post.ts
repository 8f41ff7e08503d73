/** One request to an OTLP receiver. Source: opentelemetry.io/docs/specs/otlp, "OTLP/HTTP". */
import { gzipSync } from "node:zlib";
import { exchange, retryAfterOf, type HttpReply } from "../../calls/http.ts";
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
  const signal = AbortSignal.timeout(patience);
  const given = { method: "POST", headers: { ...headers, ...own }, body: compressed, signal };
  const reply = await exchange(url, given, longestResponse).catch((cause: unknown) => {
    throw new SinkError((cause as Error).message, { cause });
  });
  if (reply.status < 200 || reply.status >= 300) throw rejection(url, reply);
  return reply.body;
}

/** Requests that the specification calls not retryable, other than a server's own failures. */
function rejection(url: string, { status, headers, body }: HttpReply): SinkError {
  const isPermanent = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const said = showText(body.toString("utf8"), 200);
  return new SinkError(`${url} answered ${status}${said === "" ? "" : `: ${said}`}`, {
    isPermanent,
    retryAfterSeconds: (retryAfterOf(headers) ?? 0) / 1000,
  });
}

/** A local OTLP receiver whose answers a test determines. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { decode, type ReadField } from "../../protobuf.ts";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface Received {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly spans: readonly ReceivedSpan[];
}

export interface Collector extends AsyncDisposable {
  readonly endpoint: string;
  /** Every request, in order. */
  readonly received: readonly Received[];
}

/** Answers a request; the first has the number 0. Nothing written: it never answers. */
export type Answering = (number: number, response: ServerResponse) => void;

export const accept: Answering = (_, response) => response.end();

export async function startCollector(answer: Answering): Promise<Collector> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = gunzipSync(Buffer.concat(chunks));
      received.push({ url: request.url ?? "", headers: request.headers, body, ...readRequest(body) });
      answer(received.length - 1, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function readRequest(body: Buffer): Pick<Received, "resource" | "spans"> {
  const [resourceSpans] = all(body, 1);
  const [resource] = all(resourceSpans, 1);
  const scopeSpans = all(resourceSpans, 2);
  return {
    resource: attributesOf(resource, 1),
    spans: scopeSpans.flatMap((each) => all(each, 2)).map(spanOf),
  };
}

function spanOf(span: Buffer): ReceivedSpan {
  const one = (field: number) => all(span, field)[0] ?? Buffer.alloc(0);
  return {
    traceId: one(1).toString("hex"),
    spanId: one(2).toString("hex"),
    parentSpanId: one(4).toString("hex"),
    name: one(5).toString("utf8"),
    start: one(7).readBigUInt64LE(),
    end: one(8).readBigUInt64LE(),
    attributes: attributesOf(span, 9),
  };
}

function attributesOf(message: Buffer | undefined, field: number): Record<string, unknown> {
  return Object.fromEntries(
    all(message, field).map((pair) => [all(pair, 1)[0]?.toString("utf8"), valueOf(all(pair, 2)[0])]),
  );
}

function valueOf(value: Buffer | undefined): unknown {
  const [found] = fieldsOf(value);
  if (found === undefined) return undefined;
  if (typeof found.value === "bigint") return found.field === 2 ? found.value === 1n : Number(found.value);
  if (found.field === 4) return found.value.readDoubleLE();
  return found.field === 5 ? all(found.value, 1).map(valueOf) : found.value.toString("utf8");
}

function all(message: Buffer | undefined, field: number): Buffer[] {
  return fieldsOf(message).flatMap((each) =>
    each.field === field && each.value instanceof Buffer ? [each.value] : [],
  );
}

function fieldsOf(message: Buffer | undefined): readonly ReadField[] {
  return message === undefined ? [] : (decode(message) ?? []);
}

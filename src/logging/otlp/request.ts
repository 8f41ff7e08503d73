/**
 * `ExportTraceServiceRequest` in protobuf, the encoding that every receiver of OTLP over HTTP accepts.
 * Source: opentelemetry-proto 1.7, trace/v1/trace.proto, common/v1/common.proto.
 */
import { bytes, decode, double, encode, type Field, fixed64, message, varint } from "../../protobuf.ts";
import { jsonOrNull } from "../../json.ts";
import { SinkError } from "../sink.ts";
import { showText } from "../../format.ts";
import { z } from "zod";
import type { Span, Value } from "./spans.ts";

export interface Resource {
  readonly [attribute: string]: string;
}

export function traceRequest(resource: Resource, spans: readonly Span[]): Buffer {
  const scope = message(1, bytes(1, "troupe"));
  const scopeSpans = message(2, scope, ...spans.map((span) => message(2, ...spanFields(span))));
  return encode([message(1, message(1, ...attributes(1, resource)), scopeSpans)]);
}

const kinds = { internal: 1, client: 3 } as const;

function spanFields(span: Span): readonly Field[] {
  return [
    bytes(1, Buffer.from(span.traceId, "hex")),
    bytes(2, Buffer.from(span.spanId, "hex")),
    ...(span.parentSpanId === undefined ? [] : [bytes(4, Buffer.from(span.parentSpanId, "hex"))]),
    bytes(5, span.name),
    varint(6, kinds[span.kind]),
    fixed64(7, nanoseconds(span.interval.start)),
    fixed64(8, nanoseconds(span.interval.end)),
    ...attributes(9, span.attributes),
  ];
}

function nanoseconds(milliseconds: number): bigint {
  return BigInt(Math.round(milliseconds * 1000)) * 1000n;
}

function attributes(field: number, values: Readonly<Record<string, Value | undefined>>): readonly Field[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [message(field, bytes(1, key), message(2, valueField(value)))],
  );
}

function valueField(value: Value): Field {
  if (typeof value === "string") return bytes(1, value);
  if (typeof value === "boolean") return varint(2, value ? 1 : 0);
  if (typeof value === "number") return Number.isSafeInteger(value) ? varint(3, value) : double(4, value);
  return message(5, ...value.map((each) => message(1, bytes(1, each))));
}

export interface RejectedSpans {
  readonly count: bigint;
  readonly reason: string;
}

const inJson = z.looseObject({
  partialSuccess: z
    .looseObject({
      rejectedSpans: z.union([z.int(), z.string().regex(/^\d+$/)]).default(0),
      errorMessage: z.string().default(""),
    })
    .nullish(),
});

/**
 * From an `ExportTraceServiceResponse`, or its form in JSON, which some receivers answer with: spans that the receiver did
 * not take, and why. Null: it took all.
 * @throws SinkError for a page, as of a server that answers everything with one: nothing was taken
 */
export function rejectedSpans(response: Buffer, url: string): RejectedSpans | null {
  const decoded = decode(response);
  if (decoded === undefined) return rejectedInJson(response.toString("utf8"), url);
  const partial = decoded.find(({ field }) => field === 1)?.value;
  const fields = partial instanceof Buffer ? (decode(partial) ?? []) : [];
  const count = fields.find(({ field }) => field === 1)?.value;
  const reason = fields.find(({ field }) => field === 2)?.value;
  if (typeof count !== "bigint" || count === 0n) return null;
  return { count, reason: reason instanceof Buffer ? reason.toString("utf8") : "" };
}

function rejectedInJson(text: string, url: string): RejectedSpans | null {
  const { data } = inJson.safeParse(jsonOrNull(text));
  // Other words are none of the specification's, but harmless.
  if (text.trimStart().startsWith("<"))
    throw new SinkError(`${url} is no OTLP receiver: it answered with a page, ${showText(text, 80)}`);
  const { rejectedSpans: count = 0, errorMessage: reason = "" } = data?.partialSuccess ?? {};
  return BigInt(count) === 0n ? null : { count: BigInt(count), reason };
}

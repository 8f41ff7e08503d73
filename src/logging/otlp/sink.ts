/** Sends a run's stored episodes as traces to an OTLP receiver, such as a collector, Langfuse or Weave. */
import path from "node:path";
import { gzipSync } from "node:zlib";
import { exchange, retryAfterOf, type HttpReply } from "../../calls/http.ts";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { readStored, type StoredEpisode } from "../../rollout/stored.ts";
import type { EpisodeEntry } from "../../runs/episode-entries.ts";
import { readEpisodeIndex } from "../../runs/read-episodes.ts";
import type { OtlpSettings } from "../settings.ts";
import {
  openSent,
  readClock,
  SinkError,
  type Clock,
  type TimeInterval,
  type Sink,
  type Sent,
} from "../sink.ts";
import { keyValues, receiverOf, type Receiver } from "./environment.ts";
import { rejectedSpans, traceRequest, spansOf, type Resource, type Span } from "./request.ts";

/** Spans of a request; more make a body too large for some receivers. */
const mostSpans = 1000;
/** Characters of attributes of a request. */
const mostText = 2 ** 20;

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws TroupeError `bad_recipe` if neither the settings nor the environment has an address */
export async function otlpSink(
  directory: string,
  settings: OtlpSettings,
  environment: Environment,
  limits: Pick<Receiver, "patience"> = {},
): Promise<Sink> {
  const receiver = { ...receiverOf(settings.endpoint, environment), ...limits };
  const sent = await openSent(directory, "otlp", receiver.url);
  const name = path.basename(path.resolve(directory));
  const resource = {
    "service.name": "troupe",
    "troupe.run": name,
    ...keyValues(environment["OTEL_RESOURCE_ATTRIBUTES"]),
    ...settings.attributes,
  };
  const sending = { directory, name, contents: settings.contents, receiver, resource, sent };
  return { title: "OTLP", update: () => update(sending), close: async () => {} };
}

interface Sending {
  readonly directory: string;
  /** The run's. */
  readonly name: string;
  readonly contents: boolean;
  readonly receiver: Receiver;
  readonly resource: Resource;
  readonly sent: Sent;
}

async function update(sending: Sending): Promise<void> {
  const { directory, sent } = sending;
  const index = await readEpisodeIndex(directory);
  const clock = await readClock(directory);
  // An episode is sent once its step, or its evaluation, is recorded.
  const due = index.filter((entry) => !sent.has(entry.id) && intervalOf(entry, clock) !== undefined);
  let batch = emptyBatch();
  for await (const stored of readStored(directory, due)) {
    batch.add(stored.entry.id, spansFor(sending, stored, clock));
    if (!batch.isFull()) continue;
    await send(sending, batch);
    batch = emptyBatch();
  }
  await send(sending, batch);
}

function intervalOf({ step, evaluation }: EpisodeEntry, clock: Clock): TimeInterval | undefined {
  return evaluation === undefined ? clock.step(step) : clock.evaluation(step, evaluation.team);
}

function spansFor({ name, contents }: Sending, stored: StoredEpisode, clock: Clock): readonly Span[] {
  const interval = intervalOf(stored.entry, clock);
  if (interval === undefined) throw new TroupeError("internal", "the episode's step is not recorded");
  return spansOf(stored, { run: `${name}/${clock.started}`, interval, contents });
}

class Batch {
  readonly ids: string[] = [];
  readonly spans: Span[] = [];
  #text = 0;

  add(id: string, spans: readonly Span[]): void {
    this.ids.push(id);
    this.spans.push(...spans);
    for (const { attributes } of spans)
      for (const value of Object.values(attributes))
        this.#text += typeof value === "string" ? value.length : 8;
  }

  isFull(): boolean {
    return this.spans.length >= mostSpans || this.#text >= mostText;
  }
}

function emptyBatch(): Batch {
  return new Batch();
}

/** What a receiver rejects of a request that it took must not be sent again (OTLP, "Partial Success"). */
async function send({ receiver, resource, sent }: Sending, { ids, spans }: Batch): Promise<void> {
  if (ids.length === 0) return;
  const rejected = rejectedSpans(await post(receiver, traceRequest(resource, spans)), receiver.url);
  await sent.add(ids);
  if (rejected === null) return;
  throw new SinkError(
    `${receiver.url} rejected ${rejected.count} of ${spans.length} spans: ${rejected.reason}`,
  );
}

/** Milliseconds for one request. */
const usualPatience = 10_000;
const longestResponse = 2 ** 20;

/** @returns the body of the response @throws SinkError if the receiver did not take it */
async function post({ url, headers, patience = usualPatience }: Receiver, body: Buffer): Promise<Buffer> {
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

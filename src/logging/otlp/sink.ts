/** Sends a run's stored episodes as traces to an OTLP receiver, such as a collector, Langfuse or Weave. */
import path from "node:path";
import { TroupeError } from "../../errors.ts";
import { readStored, type StoredEpisode } from "../../rollout/stored.ts";
import { readEpisodeIndex } from "../../runs/read-episodes.ts";
import type { EpisodeEntry } from "../../runs/episode-entries.ts";
import { type Clock, type TimeInterval, readClock } from "../clock.ts";
import { openSent, type Sent } from "../sent.ts";
import type { OtlpSettings } from "../settings.ts";
import { type Sink, SinkError } from "../sink.ts";
import { keyValues, receiverOf } from "./environment.ts";
import { post, type Receiver } from "./post.ts";
import { rejectedSpans, type Resource, traceRequest } from "./request.ts";
import { type Span, spansOf } from "./spans.ts";

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

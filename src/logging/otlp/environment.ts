/** The environment variables of OpenTelemetry's exporters: opentelemetry.io/docs/specs/otel/protocol/exporter. */
import { TroupeError } from "../../errors.ts";

export interface Receiver {
  readonly url: string;
  /** May hold keys. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for one request. */
  readonly patience?: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const tracesPath = "/v1/traces";

/** @param endpoint of the recipe @throws TroupeError `bad_recipe` if there is none, or it is no address */
export function receiverOf(endpoint: string | undefined, environment: Environment): Receiver {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces, OTEL_EXPORTER_OTLP_ENDPOINT: base } = environment;
  const url = endpoint ?? traces ?? base;
  if (url === undefined)
    throw new TroupeError(
      "bad_recipe",
      "logging.otlp has no endpoint. Set logging.otlp.endpoint, or OTEL_EXPORTER_OTLP_ENDPOINT in the environment.",
    );
  const variables = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];
  const headers = Object.assign({}, ...variables.map((name) => keyValues(environment[name])));
  return { url: withPath(url), headers };
}

function withPath(url: string): string {
  const bare = url.replace(/\/+$/, "");
  if (!URL.canParse(bare) || !/^https?:$/.test(new URL(bare).protocol) || /[@?#]/.test(bare))
    throw new TroupeError(
      "bad_recipe",
      "The OTLP endpoint must be an http or https address without user name, password and query. " +
        "Keys belong in OTEL_EXPORTER_OTLP_HEADERS.",
    );
  return bare.endsWith(tracesPath) ? bare : `${bare}${tracesPath}`;
}

/** `key=value,key=value`, values percent-encoded (W3C Baggage). */
export function keyValues(text = ""): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const equals = pair.indexOf("=");
    const key = pair.slice(0, equals).trim();
    return equals < 1 || key === "" ? [] : [[key, decoded(pair.slice(equals + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

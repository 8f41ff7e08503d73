/** The hub and the token to use, both from the environment, as with the hub's own tools. */
import { TroupeError } from "../../errors.ts";
import { redacting, type Redact } from "../../calls/secrets.ts";
import { ServiceLog, type Service } from "../../calls/services.ts";
import { standardRetries, type RetryOptions } from "../../calls/retry.ts";

export interface HubAccess {
  readonly endpoint: URL;
  /** Only sent to the endpoint; never in a message, file or log. */
  readonly token: string | null;
  /** No network access. */
  readonly isOffline: boolean;
  readonly retries: RetryOptions;
  /** Counts its requests. */
  readonly service: Service;
  /** Milliseconds without a byte after which a transfer counts as broken. */
  readonly longestSilence: number;
}

const publicHub = "https://huggingface.co";

/** @throws TroupeError `bad_arguments` if HF_ENDPOINT or HF_TOKEN is invalid */
export function hubAccess(
  environment: NodeJS.ProcessEnv = process.env,
  log: ServiceLog = new ServiceLog(),
): HubAccess {
  return {
    endpoint: endpointOf(environment["HF_ENDPOINT"] || publicHub),
    token: tokenOf(environment["HF_TOKEN"]),
    isOffline: /^(1|true|yes|on)$/i.test(environment["HF_HUB_OFFLINE"] ?? ""),
    retries: standardRetries,
    service: log.named("hub"),
    longestSilence: 60_000,
  };
}

function endpointOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    const expected = `expected a URL without user name or password, such as ${publicHub}`;
    throw new TroupeError("bad_arguments", `HF_ENDPOINT: ${expected}`);
  }
  url.pathname = url.pathname.replace(/\/*$/, "/");
  return url;
}

function tokenOf(text: string | undefined): string | null {
  const token = text?.trim() ?? "";
  // A header with a line feed in it would cause an error that shows the token.
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new TroupeError("bad_arguments", "HF_TOKEN: expected a token such as hf_…, without white space");
  return token === "" ? null : token;
}

/** For whatever the hub says: it may repeat the token. */
export function hubRedact({ token }: Pick<HubAccess, "token">): Redact {
  return redacting(["HF_TOKEN"], { HF_TOKEN: token ?? undefined });
}

/** Whether the token may be sent there: only to the hub itself, and not unencrypted over a network. */
export function maySendToken({ endpoint, token }: HubAccess, url: URL): boolean {
  const isPrivate =
    url.protocol === "https:" || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  return token !== null && url.origin === endpoint.origin && isPrivate;
}

/** A URL below the endpoint; each part is one or more path segments. */
export function hubUrl({ endpoint }: HubAccess, ...parts: readonly string[]): URL {
  const steps = parts.flatMap((part) => part.split("/")).map(encodeURIComponent);
  return new URL(steps.join("/"), endpoint);
}

/** For messages: a signed URL's query is as good as a password. */
export function showUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/**
 * Requests to the hub. The token goes to the hub alone, redirects are followed only to where they may lead, what falls
 * silent ends, and errors say what to do.
 *
 * The package @huggingface/hub does none of it: it sends the token to whatever host a listing names as its next page, and
 * neither checks what it downloads nor resumes.
 */
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { answerOf, call } from "../../calls/call.ts";
import { reasonOf as reasonIn, retryAfterOf } from "../../calls/http.ts";
import { standardRetries, type RetryOptions } from "../../calls/retry.ts";
import { redacting, type Redact } from "../../calls/secrets.ts";
import { Service } from "../../calls/services.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { checkCancelled } from "../cache.ts";

/** The hub and the token to use, both from the environment, as with the hub's own tools. */
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
export function hubAccess(): HubAccess {
  const { HF_ENDPOINT = "", HF_TOKEN = "", HF_HUB_OFFLINE = "" } = process.env;
  const token = HF_TOKEN.trim();
  // A header with a line feed in it would cause an error that shows the token.
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new TroupeError("bad_arguments", "HF_TOKEN: expected a token such as hf_…, without white space");
  return {
    endpoint: endpointOf(HF_ENDPOINT || publicHub),
    token: token === "" ? null : token,
    isOffline: /^(1|true|yes|on)$/i.test(HF_HUB_OFFLINE),
    retries: standardRetries,
    service: new Service("hub"),
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

/** Redacts the token in whatever the hub says, which may repeat it. */
export function hubRedact({ token }: Pick<HubAccess, "token">): Redact {
  return redacting(["HF_TOKEN"], { HF_TOKEN: token ?? undefined });
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

/** Fit to be shown. */
export function reasonOf(error: unknown): string {
  return showText(reasonIn(error), 200);
}

/** The result of `work`, retried while the hub fails, after the time it requests. */
export async function retryingHub<T>(
  { service, retries }: HubAccess,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return answerOf(await call(service, work, { retries, signal }));
}

const mostRedirects = 8;

/**
 * The answer to a GET, after redirects. The caller reads or cancels its body.
 * @throws ServiceError if another try may help
 * @throws TroupeError `bad_data` if access is denied or the place does not exist, `cancelled`
 */
export async function get(
  access: HubAccess,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  let place = url;
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const response = await send(access, place, headers, signal);
    const target = await redirectTarget(access, response, place);
    if (target === null) return response.ok ? response : fail(access, url, place, response);
    await response.body?.cancel();
    place = target;
  }
  throw new TroupeError("bad_data", `${showUrl(url)} redirects more than ${mostRedirects} times`);
}

async function send(
  access: HubAccess,
  url: URL,
  given: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  const authorization = maySendToken(access, url) ? { authorization: `Bearer ${access.token}` } : {};
  // Compressed answers have other lengths and ranges than the files.
  const headers = { "accept-encoding": "identity", "user-agent": "troupe", ...given, ...authorization };
  try {
    return await fetch(url, { redirect: "manual", headers, signal });
  } catch (error) {
    checkCancelled(signal);
    throw new ServiceError(`Cannot reach ${url.origin}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Only to the hub itself, and not unencrypted over a network. */
function maySendToken({ endpoint, token }: HubAccess, url: URL): boolean {
  const isPrivate =
    url.protocol === "https:" || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  return token !== null && url.origin === endpoint.origin && isPrivate;
}

/** A signal that is aborted if the caller's is, or after a while without data. */
export class SilenceTimer implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;

  constructor({ longestSilence }: HubAccess, caller: AbortSignal | undefined) {
    const controller = new AbortController();
    const failure = new ServiceError(`The hub sent nothing for ${longestSilence / 1000} seconds.`);
    this.#timer = setTimeout(() => controller.abort(failure), longestSilence);
    this.signal = caller ? AbortSignal.any([caller, controller.signal]) : controller.signal;
  }

  heard(): void {
    this.#timer.refresh();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

// --- What failed ---

/** Longest wait that a hub may request, in milliseconds; more ends the command. */
const longestRest = 300_000;

/** The file is shorter than the position to resume from. */
export class RangeRefused extends Error {}

async function fail(access: HubAccess, asked: URL, url: URL, response: Response): Promise<never> {
  const { status, headers } = response;
  await response.body?.cancel().catch(() => {});
  const message = headers.get("x-error-message");
  const said = message === null ? "" : ` (${showText(hubRedact(access)(message), 200)})`;
  const place = showUrl(asked);
  if (status === 429 || status >= 500) {
    const retryAfter = retryAfterOf(headers, Infinity) ?? 0;
    const failure = `${url.origin} answers with status ${status}${said}`;
    if (retryAfter <= longestRest) throw new ServiceError(failure, { retryAfter });
    const seconds = Math.ceil(retryAfter / 1000);
    throw new TroupeError("service", `${failure} and asks to wait for ${seconds} seconds; try again then`);
  }
  if (status === 401 || status === 403) throw forbidden(access, place, status, said);
  if (status === 404 || status === 410)
    throw new TroupeError("bad_data", `there is no ${place}${said}; check the name and the revision`);
  if (status === 416) throw new RangeRefused();
  throw new TroupeError("bad_data", `${place} answers with status ${status}${said}`);
}

/** The hub also answers this for data sets that do not exist. */
function forbidden(access: HubAccess, place: string, status: number, said: string): TroupeError {
  const page = place.replace(/\/(resolve|tree|revision)\/.*$/, "").replace("/api/", "/");
  const fix =
    access.token === null
      ? "it does not exist, is private, or is gated: accept its terms there and put a token that may read it into HF_TOKEN"
      : "the token in HF_TOKEN may not read it: accept its terms there, or use another token";
  return new TroupeError("bad_data", `${page} is refused with status ${status}${said}; ${fix}`);
}

// --- Redirects: a hub, or who controls it, must not make this machine send requests to services of its own network ---

/**
 * The target of a redirect; null: the answer is none. A name is resolved here and again by the request, so a name server
 * that gives a different answer then is not noticed.
 * @throws TroupeError `bad_data` for a place that is not followed
 */
export async function redirectTarget(
  { endpoint }: Pick<HubAccess, "endpoint">,
  { status, headers }: Response,
  from: URL,
): Promise<URL | null> {
  const location = headers.get("location");
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return null;
  const target = URL.parse(location, from);
  const isSafe =
    target !== null &&
    /^https?:$/.test(target.protocol) &&
    target.username === "" &&
    (from.protocol === "http:" || target.protocol === "https:");
  if (!isSafe)
    throw new TroupeError("bad_data", `${showUrl(from)} redirects to a place that is not followed`);
  if (target.hostname === endpoint.hostname) return target;
  const zones = await zonesOf(target);
  const isInside = zones.includes("private") && !(await zonesOf(endpoint)).includes("private");
  if (!isInside && !zones.includes("link-local")) return target;
  throw new TroupeError(
    "bad_data",
    `${showUrl(from)} redirects to ${target.host}, an address of a private network, which is only followed from a hub in one`,
  );
}

type Zone = "public" | "private" | "link-local";

/** Of all addresses of the host. A name that cannot be resolved here may be resolved by a proxy, outside. */
async function zonesOf({ hostname }: URL): Promise<readonly Zone[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return [zoneOf(host)];
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => zoneOf(address));
}

function zoneOf(address: string): Zone {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (linkLocal.check(address, family)) return "link-local";
  return inside.check(address, family) ? "private" : "public";
}

/** With the addresses of cloud metadata services. */
const linkLocal = blockList("169.254.0.0/16 100.100.100.200/32 fe80::/10 fd00:ec2::254/128");

/** Loopback, private, shared, reserved and multicast addresses, and translations of IPv4 (RFC 6890, RFC 6052). */
const inside = blockList(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/3",
  "::/128 ::1/128 64:ff9b::/96 64:ff9b:1::/48 fc00::/7 fec0::/10 ff00::/8",
);

function blockList(...lines: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of lines.flatMap((line) => line.split(" "))) {
    const [address = "", prefix = "0"] = subnet.split("/");
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

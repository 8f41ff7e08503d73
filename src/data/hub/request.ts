/**
 * Requests to the hub: follows redirects itself, so that the token is not forwarded, and turns errors into messages
 * that say what to do.
 */
import { answerOf, call } from "../../calls/call.ts";
import { reasonOf as reasonIn, retryAfterOf } from "../../calls/http.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { checkCancelled } from "../cancel.ts";
import { hubRedact, maySendToken, showUrl, type HubAccess } from "./access.ts";
import { redirectTarget } from "./redirects.ts";

const mostRedirects = 8;
/** Longest wait that a hub may request, in milliseconds; more ends the command. */
const longestRest = 300_000;

/** The result of `work`, retried while the hub fails, after the time it requests. */
export async function retryingHub<T>(
  { service, retries }: HubAccess,
  work: (attempt: number) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return answerOf(await call(service, (_, attempt) => work(attempt), { retries, signal }));
}

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
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  const authorization = maySendToken(access, url) ? { authorization: `Bearer ${access.token}` } : {};
  // Compressed answers have other lengths and ranges than the files.
  const fixed = { "accept-encoding": "identity", "user-agent": "troupe" };
  try {
    return await fetch(url, {
      redirect: "manual",
      headers: { ...fixed, ...headers, ...authorization },
      signal,
    });
  } catch (error) {
    checkCancelled(signal);
    throw new ServiceError(`Cannot reach ${url.origin}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Fit to be shown. */
export function reasonOf(error: unknown): string {
  return showText(reasonIn(error), 200);
}

/** The hub's own message, if it is fit to be shown. */
async function saidBy(access: HubAccess, response: Response): Promise<string> {
  const header = response.headers.get("x-error-message");
  await response.body?.cancel().catch(() => {});
  return header === null ? "" : ` (${showText(hubRedact(access)(header), 200)})`;
}

async function fail(access: HubAccess, asked: URL, url: URL, response: Response): Promise<never> {
  const { status } = response;
  const said = await saidBy(access, response);
  const place = showUrl(asked);
  if (status === 429 || status >= 500) {
    const retryAfter = retryAfterOf(response.headers, Infinity) ?? 0;
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

/** The file is shorter than the position to resume from. */
export class RangeRefused extends Error {}

/** The hub also answers this for data sets that do not exist. */
function forbidden(access: HubAccess, place: string, status: number, said: string): TroupeError {
  const page = place.replace(/\/(resolve|tree|revision)\/.*$/, "").replace("/api/", "/");
  const fix =
    access.token === null
      ? "it does not exist, is private, or is gated: accept its terms there and put a token that may read it into HF_TOKEN"
      : "the token in HF_TOKEN may not read it: accept its terms there, or use another token";
  return new TroupeError("bad_data", `${page} is refused with status ${status}${said}; ${fix}`);
}

/** A signal that is aborted if the caller's is, or after a while without data. */
export class SilenceTimer implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;

  constructor(milliseconds: number, caller: AbortSignal | undefined) {
    const controller = new AbortController();
    const failure = new ServiceError(`The hub sent nothing for ${milliseconds / 1000} seconds.`);
    this.#timer = setTimeout(() => controller.abort(failure), milliseconds);
    this.signal = caller ? AbortSignal.any([caller, controller.signal]) : controller.signal;
  }

  heard(): void {
    this.#timer.refresh();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

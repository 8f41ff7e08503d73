/** The requests of the AI SDK: no redirects, bounded answers, and a record of what happened. */
import { reasonOf, retryAfterOf, wholeBody } from "../calls/http.ts";

/** What happened to the last request. */
export interface Exchange {
  /** null: there was no answer. */
  status: number | null;
  /** Why there is no whole answer. */
  failure: string | null;
  rejectsKey: boolean;
  /** Milliseconds in which it asks not to be asked again; null: it does not say. */
  retryAfter: number | null;
}

/** In bytes. */
const longestAnswer = 2 ** 20;

const withoutBody = [204, 205, 304];

export function guardedFetch(exchange: Exchange): typeof fetch {
  return async (input, init) => {
    // A redirect must not forward the key.
    const response = await fetch(input, { ...init, redirect: "error" }).catch((error: unknown) => {
      exchange.failure = `cannot be reached: ${reasonOf(error)}`;
      throw error;
    });
    exchange.status = response.status;
    exchange.retryAfter = retryAfterOf(response.headers);
    const body = await textOf(response, exchange);
    exchange.rejectsKey = isAboutKey(response.status, body);
    return new Response(withoutBody.includes(response.status) ? null : body, {
      status: response.status,
      headers: { "content-type": response.headers.get("content-type") ?? "application/json" },
    });
  };
}

async function textOf(response: Response, exchange: Exchange): Promise<string> {
  const body = await wholeBody(response.body, longestAnswer).catch((error: unknown) => {
    exchange.failure = `broke off its answer: ${reasonOf(error)}`;
    throw error;
  });
  return body.toString("utf8");
}

/** Google answers 400 to a wrong key. */
function isAboutKey(status: number, body: string): boolean {
  return status === 401 || status === 403 || (status === 400 && body.includes("API_KEY_INVALID"));
}

/** The requests of the AI SDK: no redirects, bounded answers, and a record of what happened. */

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
    const body = await wholeBody(response, exchange);
    exchange.rejectsKey = isAboutKey(response.status, body);
    return new Response(withoutBody.includes(response.status) ? null : body, {
      status: response.status,
      headers: { "content-type": response.headers.get("content-type") ?? "application/json" },
    });
  };
}

async function wholeBody(response: Response, exchange: Exchange): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of response.body ?? []) {
      length += part.length;
      if (length > longestAnswer) throw new Error(`more than ${longestAnswer} bytes`);
      parts.push(part);
    }
  } catch (error) {
    exchange.failure = `broke off its answer: ${reasonOf(error)}`;
    throw error;
  }
  return Buffer.concat(parts).toString("utf8");
}

/** A service that asks for longer is asked again all the same. */
const longestWait = 600_000;

/** The header has seconds, or a date; OpenAI also has one with milliseconds. */
function retryAfterOf(headers: Headers): number | null {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN);
  const wait = exact >= 0 ? exact : waitIn(headers.get("retry-after") ?? "");
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, wait), longestWait);
}

function waitIn(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return 1000 * Number(text);
  // `Date.parse` alone would read a negative number as a year.
  return /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) - Date.now() : Number.NaN;
}

/** Google answers 400 to a wrong key. */
function isAboutKey(status: number, body: string): boolean {
  return status === 401 || status === 403 || (status === 400 && body.includes("API_KEY_INVALID"));
}

/** `fetch failed` has the reason in its cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== "" ? cause.message : message;
}

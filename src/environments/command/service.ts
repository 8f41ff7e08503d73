/**
 * An episode of a service that is already running: it is asked with `POST …/episodes`, and answers when the episode is over,
 * or at once with 202 and reports later. A request that fails may have started an episode all the same: it is never
 * repeated in the same session, whose end rejects what is left of it.
 */
import { answerOf, call } from "../../calls/call.ts";
import { exchange, postPatiently, retryAfterOf, type HttpReply } from "../../calls/http.ts";
import { redacting } from "../../calls/secrets.ts";
import { Service } from "../../calls/services.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { OpenSession } from "../../gateway/gateway.ts";
import { jsonOrNull } from "../../json.ts";
import type { Context, Json } from "../environment.ts";
import type { ServiceOptions } from "./options.ts";
import type { ProgramEnd } from "./program.ts";
import { reportOrSilence, watchSilence } from "./silence.ts";

/** In bytes. */
const longestAnswer = 2 ** 24;

/** @throws ServiceError for what is no fault of the agents; TroupeError `bad_recipe` if it is no such service */
export async function askService(
  options: ServiceOptions,
  task: Json,
  open: OpenSession,
  { signal, services }: Pick<Context, "signal" | "services">,
): Promise<ProgramEnd> {
  const { url, keyVariable, timeoutSeconds, reward } = options;
  const { session, report } = open;
  const service = services.log?.named("agents", { onlyProblems: true }) ?? new Service("agents");
  const over = new AbortController();
  const end = (why: "reported" | "silent") => () => over.abort(why);
  const unwatch = watchSilence(session, timeoutSeconds, end("silent"));
  report.given.then(end("reported"), () => {});
  try {
    const answered = answerOf(
      await call(service, (own) => ask(options, requestOf(task, open), own), {
        signal: AbortSignal.any([signal, over.signal]),
      }),
    );
    const redact = redacting(keyVariable === undefined ? [] : [keyVariable]);
    const body = redact(answered.body.toString("utf8"));
    const isLater = answered.status === 202 || reward === "webhook";
    // A page of a proxy, for example: nothing that the agents did.
    if (!isLater && reward === "answer" && !isNothing(body) && jsonOrNull(body) === null)
      throw new ServiceError(`${url} answered with something other than JSON: ${showText(body.trim(), 80)}`);
    if (isLater) await reportOrSilence(report.given, session, timeoutSeconds, signal);
    return { ...nothing, ...(isLater ? {} : { reward: isNothing(body) ? null : body.trim(), output: body }) };
  } catch (error) {
    signal.throwIfAborted();
    if (over.signal.reason === "reported") return nothing;
    if (over.signal.reason !== "silent") throw error;
    const problem = `the service neither called a role nor answered for ${timeoutSeconds} seconds: ${url}`;
    return { ...nothing, problem };
  } finally {
    unwatch();
  }
}

const nothing: ProgramEnd = { exitCode: null, problem: null, reward: null, output: "", errors: "" };

/** Frameworks write `null` where a function returns nothing. */
const isNothing = (body: string): boolean => ["", "null"].includes(body.trim());

const shown = ({ url, key }: OpenSession["address"]): object => ({ baseUrl: `${url}/v1`, key });

/** What the service gets. */
function requestOf(task: Json, { session, address, addresses }: OpenSession): object {
  return {
    episode: session.id,
    task,
    ...shown(address),
    roles: Object.fromEntries(Object.entries(addresses).map(([name, one]) => [name, shown(one)])),
    reward: { url: `${address.url}/reward`, key: address.key },
  };
}

async function ask(
  { url, keyVariable }: ServiceOptions,
  body: object,
  signal: AbortSignal,
): Promise<HttpReply> {
  const key = keyIn(keyVariable);
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const place = `${url.replace(/\/+$/, "")}/episodes`;
  const reply = await postPatiently(place, { body: JSON.stringify(body), headers, signal }, longestAnswer);
  const { status } = reply;
  if (status >= 200 && status < 300) return reply;
  const redact = redacting(keyVariable === undefined ? [] : [keyVariable]);
  const text = showText(redact(reply.body.toString("utf8")).trim(), 200);
  const problem = `environment.url: POST ${place} was answered with ${status}${text === "" ? "" : ` (${text})`}`;
  if (status === 401 || status === 403)
    throw new TroupeError(
      "bad_arguments",
      keyVariable === undefined
        ? `${problem}, and no key was sent: put one into a variable and name it in \`keyVariable\`.`
        : `${problem}: set the right key in ${keyVariable}.`,
    );
  if ((status >= 300 && status < 400) || [404, 405, 501].includes(status))
    throw new TroupeError("bad_recipe", `${problem}; expected a service that plays episodes.`);
  const retryAfter = retryAfterOf(reply.headers);
  throw new ServiceError(`${problem}.`, retryAfter === null ? {} : { retryAfter });
}

function keyIn(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined;
  const key = process.env[variable]?.trim();
  if (key !== undefined && key !== "") return key;
  throw new TroupeError(
    "bad_arguments",
    `environment.keyVariable: ${variable} is not set; put the service's key in it.`,
  );
}

/** @throws TroupeError if the key is missing, or nothing answers at the address */
export async function checkService({ url, keyVariable }: ServiceOptions): Promise<void> {
  keyIn(keyVariable);
  try {
    // Whatever it answers: what it does for an episode is only found out with one.
    await exchange(
      `${url.replace(/\/+$/, "")}/episodes`,
      { method: "HEAD", signal: AbortSignal.timeout(10_000) },
      0,
    );
  } catch (cause) {
    throw new TroupeError(
      "bad_recipe",
      `environment.url: ${(cause as Error).message.replace(/\.$/, "")}. Start the service before the training.`,
      { cause },
    );
  }
}

/** How an MCP server is reached: a program on this machine, or an address. Neither can exhaust memory, or see secrets. */
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { bounded } from "../../calls/http.ts";
import { passedOn, redacting } from "../../calls/secrets.ts";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { McpSettings } from "../settings.ts";
import { RedactedTransport } from "./redacted.ts";

/** A transport, and what is known about its failures: a program's last words, or an answer that had begun. */
export interface OpenTransport {
  readonly transport: Transport;
  readonly trouble: () => string;
}

type ProgramSettings = Extract<McpSettings, { command: unknown }>;
type HttpSettings = Extract<McpSettings, { url: unknown }>;

const mostBytes = 10 * 2 ** 20;
const lastWords = 500;

/** The program sees harmless variables and those the settings name. */
export function programTransport({ command, folder, variables }: ProgramSettings): OpenTransport {
  const [program = "", ...given] = command;
  const transport = new StdioClientTransport({
    command: program,
    args: given,
    env: passedOn(variables),
    stderr: "pipe",
    maxBufferSize: mostBytes,
    ...(folder === undefined ? {} : { cwd: folder }),
  });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-4 * lastWords);
  });
  const clean = redacting(variables);
  const words = (): string => showText(clean(said).slice(-lastWords), lastWords);
  return {
    transport: new RedactedTransport(transport, clean),
    trouble: () => (words() === "" ? "" : `its last words: ${words()}`),
  };
}

/** @throws TroupeError `bad_arguments` if the token's variable is not set */
export function httpTransport({ url, token }: HttpSettings): OpenTransport {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${secretOf(token)}` };
  const begun: Answer[] = [];
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: limitedFetch((answer) => begun.push(answer)),
  });
  const clean = redacting(token === undefined ? [] : [token]);
  return { transport: new RedactedTransport(transport, clean), trouble: () => endless(begun) };
}

function secretOf(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  throw new TroupeError(
    "bad_arguments",
    `the environment variable ${name}, the token of an MCP server, is not set`,
  );
}

/** What has arrived of an answer. */
interface Answer {
  bytes: number;
  hasEnded: boolean;
}

/** Ends answers that are too long with an error. Notifications, which are asked for with GET, have no end. */
function limitedFetch(onAnswer: (answer: Answer) => void): FetchLike {
  return async (url, init) => {
    const { body, status, statusText, headers } = await fetch(url, init);
    const answer = { bytes: 0, hasEnded: body === null };
    if (init?.method === "POST") onAnswer(answer);
    const limited = body === null ? null : ReadableStream.from(limitedParts(body, answer));
    return new Response(limited, { status, statusText, headers });
  };
}

async function* limitedParts(body: AsyncIterable<Uint8Array>, answer: Answer): AsyncGenerator<Uint8Array> {
  yield* bounded(body, mostBytes, (bytes) => (answer.bytes = bytes));
  answer.hasEnded = true;
}

function endless(begun: readonly Answer[]): string {
  const open = begun.findLast(({ bytes, hasEnded }) => bytes > 0 && !hasEnded);
  return open === undefined ? "" : `it began an answer that does not end: ${open.bytes} bytes so far`;
}

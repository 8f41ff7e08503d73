/** How an MCP server is reached: a program on this machine, or an address. Neither can exhaust memory, or see secrets. */
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { passedOn, withoutSecrets } from "../../child-environment.ts";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { McpSettings } from "../settings.ts";

/** A transport, and what is known about its failures: the end of what a program wrote to standard error. */
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
  const clean = withoutSecrets(variables);
  return { transport, trouble: () => showText(clean(said).slice(-lastWords), lastWords) };
}

/** @throws TroupeError `bad_arguments` if the token's variable is not set */
export function httpTransport({ url, token }: HttpSettings): OpenTransport {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${secretOf(token)}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: limitedFetch,
  });
  return { transport, trouble: () => "" };
}

function secretOf(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  throw new TroupeError(
    "bad_arguments",
    `the environment variable ${name}, the token of an MCP server, is not set`,
  );
}

/** Ends answers that are too long with an error. */
const limitedFetch: FetchLike = async (url, init) => {
  const { body, status, statusText, headers } = await fetch(url, init);
  return new Response(body?.pipeThrough(limiter()) ?? null, { status, statusText, headers });
};

function limiter(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > mostBytes) controller.error(new Error(`an answer of more than ${mostBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

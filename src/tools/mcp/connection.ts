/** A connection to an MCP server, made when it is first used and again after it failed. */
import type { jsonSchemaValidator, JsonSchemaValidator } from "@modelcontextprotocol/sdk/validation";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { isTooDeep, type JsonObject } from "../../text/files.ts";
import type { Tool } from "../../text/messages.ts";
import type { McpSettings } from "../settings.ts";
import { textOfResult } from "./result.ts";
import { httpTransport, programTransport } from "./transport.ts";

export interface McpConnection {
  /** @throws ServiceError */
  list(): Promise<readonly Tool[]>;
  /** The answer as text, a server's error included. @throws ServiceError; TroupeError `cancelled` */
  call(name: string, given: JsonObject, signal: AbortSignal): Promise<string>;
  /** Ends the server, if it is a program. */
  close(): Promise<void>;
}

interface Connected {
  readonly client: Client;
  readonly trouble: () => string;
}

const version = "0.1";
/** A list may be split into pages, without end if the server is faulty. */
const mostPages = 100;
const mostTools = 1000;
/** Of the definitions of all tools. */
const mostCharacters = 2 ** 20;

export function connectionTo(settings: McpSettings): McpConnection {
  const timeout = settings.seconds * 1000;
  let connecting: Promise<Connected> | undefined;

  const drop = async (failed: Promise<Connected>): Promise<void> => {
    if (connecting === failed) connecting = undefined;
    const connected = await failed.catch(() => undefined);
    await connected?.client.close().catch(() => {});
  };
  const using = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    connecting ??= connect(settings, timeout);
    const current = connecting;
    try {
      const { client } = await current;
      return await work(client);
    } catch (error) {
      if (error instanceof TroupeError && error.code === "cancelled") throw error;
      const trouble = (await current.catch(() => undefined))?.trouble() ?? "";
      // Not awaited: the program may need seconds to end.
      void drop(current);
      throw failureOf(settings, error, trouble);
    }
  };
  return {
    list: () => using((client) => listAll(client, timeout)),
    call: (name, given, signal) => using((client) => callTool(client, name, given, { signal, timeout })),
    close: async () => {
      if (connecting !== undefined) await drop(connecting);
    },
  };
}

async function connect(settings: McpSettings, timeout: number): Promise<Connected> {
  const { transport, trouble } = "url" in settings ? httpTransport(settings) : programTransport(settings);
  const client = new Client({ name: "troupe", version }, { jsonSchemaValidator: anything });
  try {
    await client.connect(transport, { timeout });
    return { client, trouble };
  } catch (cause) {
    await client.close().catch(() => {});
    throw failureOf(settings, cause, trouble());
  }
}

/** Structured results are shown as text only. The SDK would test them with the server's regular expressions, without a time limit. */
const anything: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (input) => ({ valid: true, data: input as T, errorMessage: undefined }),
};

async function listAll(client: Client, timeout: number): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const listed = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout });
    for (const { name, description, inputSchema } of listed.tools)
      tools.push({ name, ...(description === undefined ? {} : { description }), parameters: inputSchema });
    checkListing(tools);
    cursor = listed.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`it lists its tools on more than ${mostPages} pages`);
}

/** Definitions go into prompts, and are kept with the run. @throws Error */
function checkListing(tools: readonly Tool[]): void {
  const named = "; choose a server with fewer and smaller ones";
  if (tools.length > mostTools) throw new Error(`it lists more than ${mostTools} tools${named}`);
  const deep = tools.find(isTooDeep);
  if (deep !== undefined)
    throw new Error(`the schema of its tool ${showText(deep.name, 64)} is nested too deeply`);
  const characters = JSON.stringify(tools).length;
  if (characters > mostCharacters)
    throw new Error(`its list of tools has more than ${mostCharacters} characters${named}`);
}

async function callTool(
  client: Client,
  name: string,
  given: JsonObject,
  { signal, timeout }: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<string> {
  try {
    const result = await client.callTool({ name, arguments: given }, undefined, {
      signal,
      timeout,
      maxTotalTimeout: timeout,
    });
    return textOfResult(result);
  } catch (error) {
    if (signal.aborted)
      throw new TroupeError("cancelled", "Cancelled while a tool was called.", { cause: error });
    if (error instanceof McpError && isAnswer(client, error)) return `The tool failed: ${error.message}`;
    throw error;
  }
}

const connectionClosed: number = ErrorCode.ConnectionClosed;
const requestTimeout: number = ErrorCode.RequestTimeout;

/** The SDK's own errors have codes that servers use too: whether the connection is closed, or a limit is named, tells them apart. */
function isAnswer(client: Client, { code, data }: McpError): boolean {
  if (code === connectionClosed) return client.transport !== undefined;
  if (code !== requestTimeout) return true;
  return typeof data !== "object" || data === null || !("timeout" in data || "maxTotalTimeout" in data);
}

function failureOf(settings: McpSettings, cause: unknown, trouble: string): TroupeError {
  if (cause instanceof TroupeError) return cause;
  const server = "url" in settings ? settings.url : settings.command.join(" ");
  const said = trouble === "" ? "" : `; ${trouble}`;
  const what = cause instanceof Error ? cause.message : String(cause);
  if ("command" in settings && (cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT") {
    const orFolder = settings.folder === undefined ? "" : `, or no folder ${settings.folder}`;
    const where = `\`${settings.command[0]}\` on PATH${orFolder}`;
    return new ServiceError(`the MCP server ${server} cannot be started: there is no program ${where}`, {
      cause,
    });
  }
  return new ServiceError(`the MCP server ${server} failed: ${what.slice(0, 500)}${said}`, { cause });
}

/**
 * The tools of an MCP server. Their list and their answers are recorded by the hash of what was asked: the same call has
 * one answer in a run, and a resumed or replayed run needs no server. What a server answers is data, errors included;
 * a server that is gone, too slow or unintelligible is a `ServiceError`, after which the next call connects anew.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { showLines } from "../../format.ts";
import { didYouMean } from "../../nearest.ts";
import { recordedCall } from "../../calls/recorded.ts";
import type { RecordedCalls } from "../../calls/recorded.ts";
import { Service } from "../../calls/services.ts";
import type { JsonObject } from "../../text/files.ts";
import type { Tool } from "../../text/messages.ts";
import { capped } from "../capped.ts";
import type { McpConnection } from "./connection.ts";
import type { McpSettings } from "../settings.ts";
import type { OpenTool } from "../tool.ts";

/** @throws TroupeError `bad_recipe` if the server lacks an allowed tool; ServiceError */
export async function mcpTools(
  settings: McpSettings,
  connection: McpConnection,
  recorded: RecordedCalls,
): Promise<readonly OpenTool[]> {
  const { tools } = await recordedCall(recorded, {
    key: keyOf("mcp tools", settings),
    read: (value) => listSchema.safeParse(value).data ?? null,
    ask: async () => ({ tools: await connection.list() }),
  });
  const asking = { settings, connection, recorded, service: new Service(serviceName(settings)) };
  return allowed(tools, settings).map((definition) => ({
    definition,
    call: (given, signal) => call(definition.name, given, { ...asking, signal }),
  }));
}

const toolSchema = z
  .object({
    name: z.string(),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  })
  .transform(({ name, description, parameters }): Tool => ({
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
  }));

interface ToolList {
  readonly tools: readonly Tool[];
}

const listSchema: z.ZodType<ToolList> = z.object({ tools: z.array(toolSchema) });

interface Asking {
  readonly settings: McpSettings;
  readonly connection: McpConnection;
  readonly recorded: RecordedCalls;
  readonly service: Service;
  readonly signal: AbortSignal;
}

const answerSchema = z.object({ text: z.string() });

async function call(
  name: string,
  given: JsonObject,
  { settings, connection, recorded, service, signal }: Asking,
): Promise<string> {
  const question = {
    key: keyOf("mcp call", settings, name, given),
    read: (value: unknown) => answerSchema.safeParse(value).data ?? null,
    ask: async () => ({ text: await service.counting(() => connection.call(name, given, signal)) }),
    service,
    // Without what would be cut in any case.
    write: ({ text }: { text: string }) => ({ text: capped(showLines(text), mostCharacters) }),
  };
  const { text } = await recordedCall(recorded, question, signal);
  return capped(showLines(text), settings.characters);
}

/** The upper limit of the setting. */
const mostCharacters = 100_000;

/** `mcp localhost:8000`, or the program's name; nothing that could hold a secret. */
function serviceName(settings: McpSettings): string {
  return `mcp ${"url" in settings ? new URL(settings.url).host : basename(settings.command[0] ?? "")}`;
}

/** Time limits and `allow` change no answer. */
function keyOf(what: string, settings: McpSettings, ...rest: readonly unknown[]): string {
  const server = "url" in settings ? [settings.url] : [settings.command, settings.folder ?? null];
  return createHash("sha256")
    .update(JSON.stringify([what, server, ...rest]))
    .digest("hex")
    .slice(0, 32);
}

/** @throws TroupeError `bad_recipe` */
function allowed(tools: readonly Tool[], { allow }: McpSettings): readonly Tool[] {
  const names = tools.map(({ name }) => name);
  const missing = allow?.find((name) => !names.includes(name));
  if (missing === undefined) return tools.filter(({ name }) => allow?.includes(name) ?? true);
  const hint = didYouMean(missing, names) ?? `it has ${names.join(", ") || "none"}`;
  throw new TroupeError(
    "bad_recipe",
    `an MCP server has no tool \`${missing}\`, which \`allow\` names; ${hint}`,
  );
}

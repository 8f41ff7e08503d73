/** Opens the tools of roles: each once, when it is first needed. */
import { TroupeError } from "../errors.ts";
import type { RecordedCalls } from "../calls/recorded.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { settleAll } from "../settle.ts";
import type { ToolCall } from "../text/messages.ts";
import { argumentChecker } from "./arguments.ts";
import { connectionTo, type McpConnection } from "./mcp/connection.ts";
import { mcpTools } from "./mcp/tools.ts";
import { pythonTool } from "./python.ts";
import { searchTool } from "./search.ts";
import type { McpSettings } from "./settings.ts";
import type { OpenTool, ToolAnswer, ToolService, ToolSettings, Toolset } from "./tool.ts";

export interface ToolSources {
  readonly sandbox: Sandbox;
  readonly recorded: RecordedCalls;
}

export function toolService(sources: ToolSources): ToolService {
  const opened = new Map<string, Promise<readonly OpenTool[]>>();
  const sets = new Map<string, Promise<Toolset>>();
  const connections: McpConnection[] = [];
  const connect = (settings: McpSettings): McpConnection => {
    const connection = connectionTo(settings);
    connections.push(connection);
    return connection;
  };
  const openOne = (settings: ToolSettings) =>
    once(opened, settings, () => openTool(settings, { ...sources, connect }));
  return {
    open: (settings) =>
      once(sets, settings, async () => joinedToolset((await Promise.all(settings.map(openOne))).flat())),
    close: async () => {
      await settleAll(connections.map((connection) => connection.close()));
    },
  };
}

/** One `open` for all callers with these settings, unless it fails: a server may be reachable later. */
async function once<T>(
  known: Map<string, Promise<T>>,
  settings: ToolSettings | readonly ToolSettings[],
  open: () => Promise<T>,
): Promise<T> {
  const key = JSON.stringify(settings);
  const opening = known.get(key) ?? open();
  known.set(key, opening);
  try {
    return await opening;
  } catch (error) {
    if (known.get(key) === opening) known.delete(key);
    throw error;
  }
}

interface OpenSources extends ToolSources {
  readonly connect: (settings: McpSettings) => McpConnection;
}

async function openTool(
  settings: ToolSettings,
  { sandbox, recorded, connect }: OpenSources,
): Promise<readonly OpenTool[]> {
  if (settings.name === "python") return [pythonTool(settings, sandbox)];
  if (settings.name === "search") return [await searchTool(settings)];
  return mcpTools(settings, connect(settings), recorded);
}

/** @throws TroupeError `bad_recipe` if two have the same name */
function joinedToolset(tools: readonly OpenTool[]): Toolset {
  const byName = new Map(
    tools.map((tool) => [tool.definition.name, { tool, problemOf: argumentChecker(tool.definition) }]),
  );
  if (byName.size < tools.length) throw sameName(tools.map(({ definition }) => definition.name));
  const answer = async (call: ToolCall, signal: AbortSignal): Promise<ToolAnswer> => {
    if (call.error !== undefined) return faulty(call.error);
    const found = byName.get(call.name);
    if (found === undefined)
      return faulty(`there is no tool ${call.name}; the tools are ${[...byName.keys()].join(", ")}`);
    const problem = found.problemOf(call.arguments);
    if (problem !== null) return faulty(`the arguments of ${call.name} are not valid: ${problem}`);
    return { text: await found.tool.call(call.arguments, signal) };
  };
  return { definitions: tools.map(({ definition }) => definition), answer };
}

function faulty(fault: string): ToolAnswer {
  return { text: `The call failed: ${fault}.`, fault };
}

function sameName(names: readonly string[]): TroupeError {
  const name = names.find((one, index) => names.indexOf(one) !== index);
  return new TroupeError(
    "bad_recipe",
    `a role has two tools named ${name}; give one another name with \`as\`, or let \`allow\` of a server leave one out`,
  );
}

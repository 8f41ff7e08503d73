/** What a recipe says about a role's tools. */
import { z } from "zod";

const characters = z
  .int()
  .min(100)
  .max(100_000)
  .default(4000)
  .describe("Most characters of an answer; the middle of a longer one is left out.");
const functionName = z.string().regex(/^[A-Za-z_][\w-]{0,63}$/, "letters, digits, `_` and `-`");
const variable = z.string().regex(/^[A-Za-z_]\w*$/, "the name of an environment variable");

const python = z.strictObject({
  name: z.literal("python").describe("Runs a Python program in the sandbox; nothing is kept between calls."),
  as: functionName.default("python").describe("What the model calls it."),
  seconds: z
    .number()
    .min(0.1)
    .max(600)
    .default(10)
    .describe("Processor time of a program; its wall-clock limit is three times that, plus 5."),
  megabytes: z.int().min(32).max(16_384).default(256).describe("Memory of a program."),
  characters,
});

const search = z.strictObject({
  name: z.literal("search").describe("Searches documents by BM25."),
  as: functionName.default("search").describe("What the model calls it."),
  index: z
    .string()
    .min(1)
    .describe("JSON lines with `text` and optional `title`, or a folder of .txt and .md files."),
  top: z.int().min(1).max(100).default(5).describe("Documents in an answer."),
  characters,
});

const server = {
  name: z.literal("mcp").describe("The tools of an MCP server."),
  allow: z.array(z.string().min(1)).min(1).optional().describe("Tools the role may call. Default: all."),
  seconds: z.number().min(0.1).max(3600).default(30).describe("Time limit of a call, and of the start."),
  characters,
};

const mcpProgram = z.strictObject({
  ...server,
  command: z
    .array(z.string().min(1))
    .min(1)
    .describe("Program and arguments of a server that talks on standard input and output."),
  folder: z.string().optional().describe("Its working directory. Default: the recipe's folder."),
  variables: z
    .array(variable)
    .default([])
    .describe("Environment variables passed to it; others, such as keys, are not."),
});

const mcpUrl = z.strictObject({
  ...server,
  url: z.url({ protocol: /^https?$/ }).describe("Address of a server with streamable HTTP."),
  token: variable.optional().describe("The environment variable that contains its bearer token."),
});

const named = z.union([python, search, mcpProgram, mcpUrl]);

export type ToolSettings = z.output<typeof named>;
export type PythonSettings = z.output<typeof python>;
export type SearchSettings = z.output<typeof search>;
export type McpSettings = z.output<typeof mcpProgram> | z.output<typeof mcpUrl>;

/** By title, for the manual. */
export const toolKinds: Readonly<Record<string, z.ZodObject>> = {
  "`python`": python,
  "`search`": search,
  "`mcp`, a program": mcpProgram,
  "`mcp`, an address": mcpUrl,
};

/** A name alone means the tool with its defaults. */
export const toolSettings = z.union([
  z.literal("python").transform((name) => python.parse({ name })),
  ...named.options,
]);

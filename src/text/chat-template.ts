/** A model's chat template: Jinja that turns messages into a prompt in the model's training format. */
import { join } from "node:path";
import { TroupeError } from "../errors.ts";
import { isObject, readOptionalText, type JsonObject } from "./files.ts";
import { parseTemplate, renderTemplate, TemplateLimit, type Program } from "./jinja.ts";
import { removeMarks } from "./marks.ts";

/** The input of a template. */
export interface TemplateInput {
  readonly messages: readonly JsonObject[];
  /** Null: none. */
  readonly tools: unknown;
  /** The text then ends where the model's own starts. */
  readonly addGenerationPrompt: boolean;
}

export interface ChatTemplate {
  /** Jinja; empty: none. */
  readonly source: string;
  readonly render: (input: TemplateInput) => string;
}

/** The date that templates print: the current one would change prompts, and weights, from day to day. */
const date: Readonly<Record<string, string>> = {
  Y: "2024",
  y: "24",
  m: "07",
  B: "July",
  b: "Jul",
  d: "26",
  A: "Friday",
  a: "Fri",
  H: "00",
  M: "00",
  S: "00",
  "%": "%",
};

const fixed = {
  documents: null,
  date_string: "26 Jul 2024",
  strftime_now: (format: string) =>
    format.replaceAll(/%(.)/g, (code, letter: string) => date[letter] ?? code),
};

/**
 * The template of a model directory: `chat_template.jinja`, else `chat_template` of tokenizer_config.json, which may
 * contain a separate one for `tool_use`. `variables` are passed to the template (special tokens; `enable_thinking` and
 * the like). A directory without a template loads; rendering is then a `bad_model` error.
 */
export function chatTemplate(directory: string, config: JsonObject, variables: JsonObject): ChatTemplate {
  const sources = templateSources(directory, config);
  if (sources.usual === undefined) return noTemplate(directory);
  const usual = compile(directory, sources.usual);
  const withTools = sources.withTools === undefined ? usual : compile(directory, sources.withTools);
  const render = ({ messages, tools, addGenerationPrompt }: TemplateInput): string => {
    try {
      const template = tools === null ? usual : withTools;
      const given = { messages, tools, add_generation_prompt: addGenerationPrompt };
      return renderTemplate(template, { ...fixed, ...variables, ...given });
    } catch (cause) {
      if (cause instanceof TemplateLimit)
        return reject(directory, `has a chat template that ${cause.message}`);
      const roles = messages.map((message) => message["role"]).join(", ");
      return reject(
        directory,
        `has a chat template that rejects the messages (${roles}): ${removeMarks(words(cause))}`,
      );
    }
  };
  return { source: sources.withTools ?? sources.usual, render };
}

function noTemplate(directory: string): ChatTemplate {
  return {
    source: "",
    render: () => {
      throw withoutTemplate(directory);
    },
  };
}

export function withoutTemplate(directory: string): TroupeError {
  return new TroupeError("bad_model", `${join(directory)} has no chat template: add chat_template.jinja`);
}

export interface TemplateSources {
  readonly usual?: string | undefined;
  /** One of its own for requests with tools. */
  readonly withTools?: string | undefined;
}

/** The templates of a directory as written there; neither is there without a template. */
export function templateSources(directory: string, config: JsonObject): TemplateSources {
  const own = readOptionalText(directory, "chat_template.jinja");
  return own === undefined ? templatesIn(config["chat_template"]) : { usual: own };
}

/** tokenizer_config.json holds one template, or a list of named ones including `default`. */
function templatesIn(value: unknown): TemplateSources {
  if (typeof value === "string") return { usual: value };
  const named = Array.isArray(value) ? value.filter(isObject) : [];
  const find = (name: string): JsonObject | undefined => named.find((entry) => entry["name"] === name);
  const usual = (find("default") ?? named[0])?.["template"];
  const withTools = find("tool_use")?.["template"];
  return {
    usual: typeof usual === "string" ? usual : undefined,
    withTools: typeof withTools === "string" ? withTools : undefined,
  };
}

function compile(directory: string, source: string): Program {
  try {
    return parseTemplate(source);
  } catch (cause) {
    return reject(directory, `has a chat template that cannot be parsed: ${words(cause)}`);
  }
}

function reject(directory: string, what: string): never {
  throw new TroupeError("bad_model", `${join(directory)} ${what}`);
}

function words(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

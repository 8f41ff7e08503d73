/** A model's chat template: the Jinja text that turns messages into the prompt the model was trained on. */
import { Template } from "@huggingface/jinja";
import { join } from "node:path";
import { TroupeError } from "../errors.ts";
import { isObject, readOptionalText, type JsonObject } from "./files.ts";

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** Renders messages; with `addGenerationPrompt` the text ends where the model's own begins. */
export type ChatTemplate = (messages: readonly Message[], addGenerationPrompt: boolean) => string;

/**
 * The template of a model directory: `chat_template.jinja`, else `chat_template` of tokenizer_config.json.
 * `variables` are given to the template (special tokens; `enable_thinking` and the like).
 * A directory without a template loads; asking it to render is a `bad_model` error.
 */
export function chatTemplate(directory: string, config: JsonObject, variables: JsonObject): ChatTemplate {
  const source = readOptionalText(directory, "chat_template.jinja") ?? templateIn(config["chat_template"]);
  if (source === undefined) return () => refuse(directory, "has no chat template: add chat_template.jinja");
  const template = compile(directory, source);
  return (messages, addGenerationPrompt) => {
    try {
      // A fixed date: templates that print today's would give another prompt, and other weights, tomorrow.
      const fixed = { tools: null, documents: null, date_string: "26 Jul 2024" };
      return template.render({
        ...fixed,
        ...variables,
        messages,
        add_generation_prompt: addGenerationPrompt,
      });
    } catch (cause) {
      const roles = messages.map((message) => message.role).join(", ");
      return refuse(directory, `has a chat template that refuses the messages (${roles}): ${words(cause)}`);
    }
  };
}

/** tokenizer_config.json holds one template, or a list of named ones of which `default` is meant. */
function templateIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return undefined;
  const named = value.filter(isObject);
  const found = named.find((entry) => entry["name"] === "default") ?? named[0];
  return typeof found?.["template"] === "string" ? found["template"] : undefined;
}

function compile(directory: string, source: string): Template {
  try {
    return new Template(source);
  } catch (cause) {
    return refuse(directory, `has a chat template that cannot be parsed: ${words(cause)}`);
  }
}

function refuse(directory: string, what: string): never {
  throw new TroupeError("bad_model", `${join(directory)} ${what}`);
}

function words(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

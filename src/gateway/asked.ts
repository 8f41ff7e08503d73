/** What the protocols have in common: how a request is read, and what of it cannot be done. */
import { z } from "zod";
import { jsonOrNull } from "../json.ts";
import { BadRequest, type RoleReply, type RoleRequest, type Said, type Usage } from "./roles.ts";

/** A request that was read. */
export interface Asked extends RoleRequest {
  readonly model: string;
  readonly isStreamed: boolean;
  /** A stream ends with a chunk that has nothing but the usage. */
  readonly hasUsageChunk?: boolean;
  /** Options that change how replies are sampled, as the request has them. */
  readonly sampling: Readonly<Record<string, unknown>>;
  /** What of the request has no effect. */
  readonly warnings: readonly string[];
  /** What is wrong with a reply that had to be JSON of a schema; null: nothing. Absent: any text may be one. */
  readonly check?: (text: string) => string | null;
}

/** A protocol that programs speak. */
export interface Protocol {
  /** @param said what was asked and answered before, by the id of the reply @throws BadRequest */
  read(body: unknown, said: (id: string) => Said | undefined): Asked;
  answer(asked: Asked, replies: readonly RoleReply[]): object;
  /** The same as events of a stream, each with its name, if the protocol names them. */
  events(asked: Asked, replies: readonly RoleReply[]): readonly Event[];
  error(problem: Pick<BadRequest, "message" | "code" | "status">): object;
}

export interface Event {
  readonly name?: string;
  readonly data: object | string;
}

/** @throws BadRequest with the first mistake */
export function parsed<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue?.path.map(String).join(".") ?? "";
  throw new BadRequest(`${place === "" ? "the request" : place}: ${issue?.message ?? "not valid"}`);
}

/** Deeper values would exhaust the stack of whoever looks into them. */
const mostDepth = 500;

/** @throws BadRequest if objects and lists are nested too deeply */
export function notTooDeep<T>(value: T): T {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > mostDepth) throw new BadRequest(`values are nested more than ${mostDepth} levels deep`);
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return value;
}

/** Text, or parts that are text. */
export const textContent = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
  .transform((content, context) => {
    if (typeof content === "string") return content;
    const other = content.find(({ text }) => text === undefined);
    if (other === undefined) return content.map(({ text }) => text).join("");
    context.addIssue({ code: "custom", message: `parts of type ${other.type} are not supported; send text` });
    return z.NEVER;
  });

/** The arguments of a call, which protocols send as text. */
export function argumentsIn(text: string): Record<string, unknown> {
  const value = text === "" ? {} : notTooDeep(jsonOrNull(text));
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new BadRequest("the arguments of a tool call are not a JSON object");
}

/** Of one prompt and of all replies to it. */
export function usageOf(replies: readonly RoleReply[]): Usage {
  const [first] = replies;
  const all = (part: "written" | "thinking"): number =>
    replies.reduce((sum, { usage }) => sum + usage[part], 0);
  const { prompt = 0, cached = 0 } = first?.usage ?? {};
  return { prompt, cached, written: all("written"), thinking: all("thinking") };
}

/** Those of the options that are given. */
export function optionsIn(
  body: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  const given = names.filter((name) => body[name] !== undefined && body[name] !== null);
  return Object.fromEntries(given.map((name) => [name, body[name]]));
}

/** The request, if its options for sampling have no effect. */
export function sampledAsRecipe(asked: Asked): Asked {
  const ignored = Object.keys(asked.sampling).map(
    (name) => `\`${name}\` has no effect: the recipe decides how roles are sampled`,
  );
  return { ...asked, sampling: {}, warnings: [...ignored, ...asked.warnings] };
}

/** A JSON schema that a reply must have: shown to the model, and checked afterwards. */
export function schemaOf(schema: object): Required<Pick<Asked, "check" | "instruction" | "schema">> {
  let read: z.ZodType;
  try {
    read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (error) {
    throw new BadRequest(`the JSON schema cannot be read: ${(error as Error).message}`);
  }
  const check = (text: string): string | null => {
    try {
      const { error } = read.safeParse(JSON.parse(text));
      return error === undefined
        ? null
        : `the reply does not match the JSON schema: ${z.prettifyError(error)}`;
    } catch {
      return "the reply is not JSON";
    }
  };
  const instruction = `Answer with nothing but JSON that matches this JSON schema:\n${JSON.stringify(schema)}`;
  return { check, instruction, schema };
}

/** What the program should know of the answer. A service does what it is asked, or rejects it. */
export function warningsOf(
  { warnings, check, toolChoice }: Asked,
  replies: readonly RoleReply[],
): { warnings?: readonly string[] } {
  const isHosted = replies.some(({ policyVersion }) => policyVersion === null);
  const all = [
    ...warnings,
    ...(toolChoice === undefined || isHosted ? [] : ["`tool_choice` cannot force a call"]),
    ...(check === undefined || isHosted ? [] : [unconstrained]),
    ...replies.flatMap(({ reply }) => check?.(reply.text) ?? []),
  ];
  return all.length === 0 ? {} : { warnings: all };
}

const unconstrained =
  "sampling is not constrained to the JSON schema: it is part of the prompt, and the reply was checked";

/** Of both protocols of OpenAI. */
export function openAiError({
  message,
  code,
  status,
}: Pick<BadRequest, "message" | "code" | "status">): object {
  const type = status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: null, code } };
}

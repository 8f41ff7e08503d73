/** An expert edits the program of a turn, and in the next turn each seat sees the edit of its part. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { answerOf, call, Fault } from "../../../calls/call.ts";
import { recordedCall } from "../../../calls/recorded.ts";
import { standardRetries } from "../../../calls/retry.ts";
import { Service } from "../../../calls/services.ts";
import { askService, checkKey, type ChatMessage } from "../../../clients/ask.ts";
import type { ClientOptions } from "../../../clients/options.ts";
import { endsInBrokenObject, objectsIn, repeatsKey } from "../../../json.ts";
import type { Context } from "../../environment.ts";
import type { CodeOptions } from "../options.ts";
import { helperName, type Edits } from "../state.ts";

export interface EditRequest {
  readonly prompt: string;
  readonly entryPoint: string;
  /** The program of both seats, without the tests. */
  readonly program: string;
  readonly hasHelper: boolean;
}

/** The parts of a program in an answer. @throws Fault if it has none, ServiceError if there is no answer */
export interface Expert {
  edit(messages: readonly ChatMessage[], signal: AbortSignal): Promise<Answer>;
}

const answerSchema = z.object({ helper: z.string().nullable(), main: z.string().nullable() });
type Answer = z.output<typeof answerSchema>;

const respondent = { role: "expert", alternative: "choose another feedback than expert_edits" };

function expertFrom(options: ClientOptions): Expert {
  return {
    async edit(messages, signal) {
      const { value, cutOff } = await askService(options, respondent, { messages, read: readEdits }, signal);
      if (cutOff !== null)
        throw new Fault(`the expert's answer was cut off (expert.maxTokens is ${options.maxTokens})`);
      if (value === null) throw new Fault("the expert's answer is no JSON object with edits");
      return { helper: editOf(value.helper), main: editOf(value.main) };
    },
  };
}

/** @throws TroupeError `bad_arguments` if the expert's key is missing */
export function checkExpert({ feedback, expert }: Pick<CodeOptions, "feedback" | "expert">): void {
  if (feedback === "expert_edits" && expert !== undefined) checkKey(expert, respondent);
}

const retries = { ...standardRetries, retries: 2 };

/**
 * An expert whose answers are none is data: the turn continues without an edit. Only answers are recorded: a resumed run
 * asks again for others.
 * @throws ServiceError if there is no answer: it is no edit
 */
export async function editsOf(
  options: ClientOptions,
  request: EditRequest,
  { signal, services }: Pick<Context, "signal" | "services">,
  expert: Expert = expertFrom(options),
): Promise<Edits> {
  const service = services.log?.named("expert") ?? new Service("expert");
  const messages = messagesFor(request);
  const { provider, model, baseUrl = null, temperature, maxTokens } = options;
  const asked = JSON.stringify(["expert", provider, model, baseUrl, temperature, maxTokens, messages]);
  const key = createHash("sha256").update(asked).digest("hex").slice(0, 32);
  const ask = async (): Promise<Answer> =>
    answerOf(await call(service, (own) => expert.edit(messages, own), { signal, retries }));
  const question = { key, read: readRecorded, ask, service, sharesFailures: true };
  try {
    return { ...(await recordedCall(services.recorded, question, signal)), fault: null };
  } catch (error) {
    if (error instanceof Fault && !signal.aborted) return { helper: null, main: null, fault: error.message };
    throw error;
  }
}

function readRecorded(recorded: unknown): Answer | null {
  return answerSchema.safeParse(recorded).data ?? null;
}

function messagesFor({ prompt, entryPoint, program, hasHelper }: EditRequest): readonly ChatMessage[] {
  const keys = hasHelper ? `"${helperName}" and "main"` : `"main"`;
  const system =
    `You review Python programs. Answer with one JSON object with the keys ${keys}: the corrected source of the ` +
    `${hasHelper ? `function ${helperName} and of the ` : ""}function ${entryPoint}, or an empty text where nothing is to be changed.`;
  return [
    { role: "system", content: system },
    { role: "user", content: `Problem:\n\n${prompt}\n\nProgram:\n\n${program}` },
  ];
}

const editsSchema = z
  .object({ [helperName]: z.string().nullish(), main: z.string().nullish() })
  .refine((edits) => helperName in edits || "main" in edits);

const longestEdit = 8000;

/** The last JSON object in the answer that has an edit, or else that could have one; null: there is none. */
export function readEdits(text: string): Answer | null {
  const found = objectsIn(text);
  // Text before a broken edit is a draft or a quotation.
  if (endsInBrokenObject(text, found)) return null;
  const whole = found.filter((one) => !repeatsKey(one.text));
  const edits = whole.flatMap(({ value }) => editsSchema.safeParse(value).data ?? []);
  const answers = edits.map(({ [helperName]: helper, main }) => {
    return { helper: helper ?? null, main: main ?? null };
  });
  return answers.findLast(hasEdit) ?? answers.at(-1) ?? null;
}

function hasEdit({ helper, main }: Answer): boolean {
  return editOf(helper) !== null || editOf(main) !== null;
}

/** Null: nothing is to be changed. Cut after it was redacted: half a secret would not be found. */
function editOf(text: string | null): string | null {
  return text === null || text.trim() === "" ? null : text.slice(0, longestEdit).toWellFormed();
}

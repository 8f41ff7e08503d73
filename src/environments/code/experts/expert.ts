/** An expert edits the program of a turn, and in the next turn each seat sees the edit of its part. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { ServiceError } from "../../../errors.ts";
import { recordedCall } from "../../../calls/recorded.ts";
import { retrying, standardRetries } from "../../../calls/retry.ts";
import type { Context } from "../../environment.ts";
import type { CodeOptions } from "../options.ts";
import { helperName } from "../seats.ts";
import type { Edits } from "../state.ts";
import { askModel, checkKey, type ChatMessage } from "../../../clients/ask.ts";
import type { ClientOptions } from "../../../clients/options.ts";
import { jsonOrNull } from "../../../json.ts";

export interface EditRequest {
  readonly prompt: string;
  readonly entryPoint: string;
  /** The program of both seats, without the tests. */
  readonly program: string;
  readonly hasHelper: boolean;
}

/** The text of an answer. @throws ServiceError if there is none */
export interface Expert {
  edit(messages: readonly ChatMessage[], signal: AbortSignal): Promise<string>;
}

const respondent = { role: "expert", alternative: "choose another feedback than expert_edits" };

function expertFrom(options: ClientOptions): Expert {
  return { edit: (messages, signal) => askModel(options, respondent, messages, signal) };
}

/** @throws TroupeError `bad_arguments` if the expert's key is missing */
export function checkExpert({ feedback, expert }: Pick<CodeOptions, "feedback" | "expert">): void {
  if (feedback === "expert_edits" && expert !== undefined) checkKey(expert, respondent);
}

const recordedSchema = z.object({ text: z.string() });
type Recorded = z.output<typeof recordedSchema>;

const retries = { ...standardRetries, retries: 2 };

/** After a failure the turn continues without an edit, and says why. */
export async function editsOf(
  options: ClientOptions,
  request: EditRequest,
  { key: path, signal, services }: Pick<Context, "key" | "signal" | "services">,
  expert: Expert = expertFrom(options),
): Promise<Edits> {
  const messages = messagesFor(request);
  const { provider, model, baseUrl = null, temperature, maxTokens } = options;
  const asked = JSON.stringify(["expert", provider, model, baseUrl, temperature, maxTokens, messages]);
  const key = createHash("sha256").update(asked).digest("hex").slice(0, 32);
  const place = createHash("sha256").update(`${key} ${path.high} ${path.low}`).digest("hex").slice(0, 32);
  const ask = async () => ({ text: await retrying(() => expert.edit(messages, signal), retries, signal) });
  try {
    const { text } = await recordedCall(services.recorded, { key, place, read: readRecorded, ask }, signal);
    return readEdits(text);
  } catch (error) {
    // Cancelled questions are asked again when the run is resumed.
    if (!(error instanceof ServiceError) || signal.aborted) throw error;
    return { helper: null, main: null, failure: error.message };
  }
}

function readRecorded(recorded: unknown): Recorded | null {
  return recordedSchema.safeParse(recorded).data ?? null;
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

const editsSchema = z.object({
  [helperName]: z.string().nullish(),
  main: z.string().nullish(),
});

const longestEdit = 8000;

const longestAnswer = 65_536;
const mostTries = 500;

/** The last JSON object in the answer that has an edit; an answer without one changes nothing. */
export function readEdits(answer: string): Edits {
  const text = answer.slice(-longestAnswer);
  const [starts, ends] = [placesOf(text, "{"), placesOf(text, "}")];
  const pairs = starts.flatMap((start) =>
    ends.filter((end) => end > start).map((end) => [start, end] as const),
  );
  for (const [start, end] of pairs.slice(0, mostTries)) {
    const parsed = editsSchema.safeParse(jsonOrNull(text.slice(start, end + 1)));
    if (!parsed.success) continue;
    const [helper, main] = [editOf(parsed.data[helperName]), editOf(parsed.data.main)];
    if (helper !== null || main !== null) return { helper, main, failure: null };
  }
  return { helper: null, main: null, failure: "the expert's answer has no edits" };
}

/** From the last to the first, at most a few. */
function placesOf(text: string, brace: string): readonly number[] {
  const places = [...text.matchAll(brace === "{" ? /\{/g : /\}/g)].map(({ index }) => index);
  return places.toReversed().slice(0, 50);
}

function editOf(text: string | null | undefined): string | null {
  return text === undefined || text === null || text.trim() === ""
    ? null
    : text.slice(0, longestEdit).toWellFormed();
}

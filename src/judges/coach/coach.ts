/** The judge `coach`: a language model scores actions, or ranks those taken in the same state. */
import { z } from "zod";
import type { Outcome } from "../../calls/call.ts";
import type { RecordedCalls } from "../../calls/recorded.ts";
import type { AnswerFormat } from "../../clients/ask.ts";
import { TroupeError } from "../../errors.ts";
import { cutTo } from "../../format.ts";
import { isPresentSync } from "../../present.ts";
import type { JudgedScore, Verdict } from "../../rollout/episode.ts";
import type { Occurrence } from "../../rollout/navigate.ts";
import { layoutOf } from "../../runs/layout.ts";
import { readRecordedCalls } from "../../runs/recorded-calls.ts";
import { settleAll } from "../../settle.ts";
import { subjectOf, type GivenVerdict, type Judge, type JudgeContext, type Subject } from "../judge.ts";
import { askOnce, type Asked } from "../verdicts.ts";
import { checkKeyToAsk, coachAsk, coachService, type Ask } from "./asking.ts";
import { caseOf, type Case } from "./case.ts";
import { formatFor, type CoachOptions } from "./options.ts";
import { blamable, promptFor, type Prompt } from "./prompt.ts";
import { rankingSchema, readRanking, readScore, scoreSchema } from "./verdict.ts";

/** Alternatives: actions of one role in one state. */
type Acts = readonly [Occurrence, ...Occurrence[]];

interface CoachQuestion extends Prompt {
  /** Those that may be blamed. */
  readonly roles: readonly string[];
}

/** In the order of the labels. */
type Answers = { readonly verdicts: readonly JudgedScore[] };

/** @throws TroupeError `bad_arguments` if there is no key to ask with, or no run `recorded` */
export function coachJudge(options: CoachOptions, context: JudgeContext): Judge {
  checkKeyToAsk(options, context);
  const recorded = withRecorded(context.calls, options.recorded);
  const ask = coachAsk(options, context);
  const questions = askOnce(recorded.calls, {
    identity: identityOf(options),
    answer: ({ question, about }: Asked<CoachQuestion>) => answerTo(question, options, ask, about),
    read: readAnswers,
    service: coachService(context),
  });
  const verdictsOn = async (acts: Acts): Promise<GivenVerdict[]> => {
    const whole = await caseOf({ ...context, options }, acts);
    const { distinct, places } = distinctActs(whole);
    const question = { ...promptFor(distinct, options), roles: blamable(whole) };
    const first = distinct.acts.map((_, place) => acts[places.indexOf(place)] as Occurrence);
    const answer = await questions.ask(question, subjectOf(first));
    return acts.map(({ node, action }, index) => {
      return { node: node.id, action: action.id, verdict: verdictAt(answer, places[index] ?? 0) };
    });
  };
  return {
    async judge(_, asked) {
      await recorded.ready;
      const groups = options.relative ? alternatives(asked) : asked.map((one): Acts => [one]);
      return (await settleAll(groups.map(verdictsOn))).flat();
    },
    settle: () => questions.settle(),
    close: async () => {},
  };
}

/** The score from 0 to 1 of a case with one act, asked at once and not recorded; null: there is no verdict. */
export async function scoreOf(asked: Case, options: CoachOptions, ask: Ask): Promise<number | null> {
  const question = { ...promptFor(asked, options), roles: blamable(asked) };
  const { answer } = await answerTo(question, options, ask);
  return answer?.verdicts[0]?.score ?? null;
}

/**
 * What verdicts depend on besides the question. Not the address: the same model may move to another port or machine, and
 * `attempt` tells apart what the name does not.
 */
function identityOf(options: CoachOptions): object {
  const { provider, model, temperature, maxTokens, attempt } = options;
  return { judge: "coach", provider, model, temperature, maxTokens, format: formatFor(options), attempt };
}

async function answerTo(
  { messages, labels, roles }: CoachQuestion,
  options: CoachOptions,
  ask: Ask,
  about?: Subject,
): Promise<Outcome<Answers>> {
  const isRanking = labels.length > 1;
  const schema = isRanking ? rankingSchema(roles, labels) : scoreSchema(roles);
  const asked = messages.map(({ content }) => content).join("\n");
  const read = (answer: string) => {
    if (isRanking) return readRanking({ asked, answer }, roles, labels);
    const verdict = readScore({ asked, answer }, roles);
    return "problem" in verdict ? verdict : { verdicts: [verdict] };
  };
  const outcome = await ask({ messages, format: formatOf(schema, options), read, about });
  if (outcome.answer === undefined) return outcome;
  return { answer: { verdicts: outcome.answer.verdicts.map(withBoundedReason) } };
}

/** Longest reason kept, in characters. */
const longestReason = 1000;

/** Cut only after secrets were redacted: half a key would not be found. */
function withBoundedReason({ explanation, ...rest }: JudgedScore): JudgedScore {
  return explanation === undefined ? rest : { ...rest, explanation: cutTo(explanation, longestReason) };
}

function formatOf(schema: z.ZodType, options: CoachOptions): AnswerFormat | undefined {
  const format = formatFor(options);
  if (format === "text") return undefined;
  return { schema: format === "json" ? null : z.toJSONSchema(schema) };
}

function alternatives(asked: readonly Occurrence[]): readonly Acts[] {
  const groups = Map.groupBy(asked, ({ node, action }) => JSON.stringify([node.parent, action.role]));
  return [...groups.values()].map((acts) => acts as readonly Occurrence[] as Acts);
}

/** Equal alternatives get the same verdict, and only one that has no other is scored instead of ranked. */
function distinctActs(asked: Case): { readonly distinct: Case; readonly places: readonly number[] } {
  const texts = asked.acts.map((act) => JSON.stringify(act));
  const found = [...new Set(texts)];
  const acts = found.map((text) => asked.acts[texts.indexOf(text)] as Case["acts"][number]);
  return { distinct: { ...asked, acts }, places: texts.map((text) => found.indexOf(text)) };
}

function verdictAt(answer: Answers | { readonly failure: string }, place: number): Verdict {
  if ("failure" in answer) return answer;
  return answer.verdicts[place] ?? { failure: "the coach gave no verdict" };
}

const answersSchema = z.strictObject({
  verdicts: z.array(
    z.strictObject({
      score: z.number().min(0).max(1),
      explanation: z.string().optional(),
      blame: z.string().nullable().optional(),
    }),
  ),
});

function readAnswers(value: unknown): Answers | null {
  return (answersSchema.safeParse(value).data as Answers | undefined) ?? null;
}

/** The run's verdicts, then those of another run. */
function withRecorded(
  own: RecordedCalls,
  folder: string | undefined,
): { readonly calls: RecordedCalls; readonly ready: Promise<void> } {
  if (folder === undefined) return { calls: own, ready: Promise.resolve() };
  const file = layoutOf(folder).verdicts;
  // Otherwise a wrong folder would be noticed by the bill.
  if (!isPresentSync(file)) {
    const fix = "name the folder of a run with verdicts, or remove it with judge.recorded=null";
    throw new TroupeError("bad_arguments", `judge.recorded: there is no ${file}; ${fix}.`);
  }
  let other: RecordedCalls | null = null;
  const ready = readRecordedCalls(file).then((calls) => void (other = calls));
  // Whoever judges first reports an unreadable file.
  ready.catch(() => {});
  return { calls: { ...own, get: (key) => own.get(key) ?? other?.get(key) }, ready };
}

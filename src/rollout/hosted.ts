/**
 * A role that a model of a service plays. What it wrote is recorded: a resumed run, or a program that is started again,
 * finds the same replies.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { answerOf, call, Fault } from "../calls/call.ts";
import { recordedCall } from "../calls/recorded.ts";
import { standardRetries } from "../calls/retry.ts";
import { Service } from "../calls/services.ts";
import { checkKey, type Respondent } from "../clients/ask.ts";
import { RejectedRequest, writtenTurn, type TurnRequest, type WrittenTurn } from "../clients/converse.ts";
import type { Services } from "../environments/environment.ts";
import {
  BadRequest,
  type HostedReply,
  type HostedRole as Hosted,
  type RoleRequest,
} from "../gateway/roles.ts";
import { seedOf, type Key } from "../random.ts";
import type { HostedRole } from "../teams/team.ts";

const respondentOf = ({ name }: HostedRole): Respondent => ({
  role: name,
  alternative: `move ${name} from team.hosted to team.roles, with a policy`,
});

/** Before a run begins. @throws TroupeError `bad_arguments` if a key is missing */
export function checkHosted(roles: readonly HostedRole[]): void {
  for (const role of roles) checkKey(role, respondentOf(role));
}

/** The run asks again, too, from the beginning of the program. */
const retries = {
  ...standardRetries,
  retries: 2,
  isRetried: (failure: Error, attempt: number) => attempt < 2 && !(failure instanceof RejectedRequest),
};

export function hostedRole(role: HostedRole, { recorded, log }: Services): Hosted {
  const { name, prompt, maxTokens } = role;
  const service = log?.named(name) ?? new Service(name);
  return {
    name,
    maxTokens,
    ...(prompt === undefined || prompt === "" ? {} : { system: prompt }),
    write: async (request, key, signal) => {
      const turn = turnOf(role, request);
      const attempt = (own: AbortSignal) => writtenTurn(role, respondentOf(role), turn, own);
      const ask = async (): Promise<WrittenTurn> =>
        answerOf(await call(service, attempt, { signal, retries }));
      try {
        const question = { key: digestOf(role, turn, key), read: readRecorded, ask, service };
        return replyOf(await recordedCall(recorded, question, signal));
      } catch (error) {
        if (error instanceof Fault && !signal.aborted)
          throw new BadRequest(error.message, { code: "service_rejected_request" });
        throw error;
      }
    },
  };
}

function turnOf(
  { maxTokens, temperature }: HostedRole,
  { messages, tools, toolChoice, schema, stop, maxTokens: most = maxTokens }: RoleRequest,
): TurnRequest {
  return { messages, tools, toolChoice, schema, stop, maxTokens: most, temperature };
}

/** Of everything that the reply depends on; the same question in another place of the run has another. */
function digestOf({ provider, model, baseUrl }: HostedRole, turn: TurnRequest, key: Key): string {
  const asked = JSON.stringify(["hosted", provider, model, baseUrl ?? null, turn, seedOf(key)]);
  return createHash("sha256").update(asked).digest("hex").slice(0, 32);
}

const count = z.int().nullable();
const recordedTurn = z.object({
  text: z.string(),
  thinking: z.string(),
  calls: z.array(
    z.object({
      id: z.string().optional(),
      name: z.string(),
      arguments: z.record(z.string(), z.unknown()),
      error: z.string().optional(),
    }),
  ),
  isCutOff: z.boolean(),
  usage: z.object({ prompt: count, cached: count, written: count, thinking: count }),
});

function readRecorded(recorded: unknown): WrittenTurn | null {
  return (recordedTurn.safeParse(recorded).data as WrittenTurn | undefined) ?? null;
}

/** A call whose arguments cannot be read is text. */
function replyOf({ text, thinking, calls, isCutOff, usage }: WrittenTurn): HostedReply {
  const malformed = calls.flatMap(({ name, error }) => (error === undefined ? [] : `${name}: ${error}`));
  return {
    reply: {
      text: malformed.length === 0 ? text : [text, ...malformed].join("\n"),
      ...(thinking === "" ? {} : { thinking }),
      ...(calls.length === 0 || malformed.length > 0 ? {} : { calls }),
      truncated: isCutOff,
    },
    usage: {
      prompt: usage.prompt ?? 0,
      cached: usage.cached ?? 0,
      written: usage.written ?? 0,
      thinking: usage.thinking ?? 0,
    },
  };
}

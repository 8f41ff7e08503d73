/**
 * Requests of a model, which start in the order of their numbers. One takes its place before anything else of it is
 * looked at, and whatever is wrong with it is its future's result: the number of a request that was rejected at once
 * would hold up all later ones.
 */
import { turnOf, turnOfBeginning } from "../protocol/forward-backward.ts";
import { ofTurn, type Answers } from "../protocol/schema.ts";
import { forgetJson, jsonOf, type Call } from "./call.ts";
import type { Result } from "./futures.ts";
import type { Model } from "./models.ts";
import { asRejection } from "./problems.ts";
import type { Service } from "./service.ts";
import type { z } from "zod";

/** The future of a request. */
export type Submitted = Answers["create_model"];

/**
 * @param read everything about the request that may be wrong
 * @throws Rejection if it has no number, or no known model
 */
export function inTurn<T>(
  service: Service,
  call: Call,
  read: (call: Call) => T,
  work: (model: Model, asked: T, signal: AbortSignal) => Promise<Result>,
): Submitted {
  const { model_id, seq_id } = ofTurn.parse(call.isProto ? turnOfProto(call) : jsonOf(call));
  const model = service.models.get(model_id, call.owner);
  const submitted = service.startInTurn(model, seq_id, call, (signal) =>
    work(model, readOrReject(call, read), signal),
  );
  forgetJson(call); // it may wait for its turn
  return submitted;
}

/** What reads a body of this form. */
export function posted<T>(form: z.ZodType<T>): (call: Call) => T {
  return (call) => form.parse(jsonOf(call));
}

function readOrReject<T>(call: Call, read: (call: Call) => T): T {
  try {
    return read(call);
  } catch (error) {
    throw asRejection(error);
  }
}

/** Also of a body that is too large: its number is at the beginning. */
function turnOfProto({ body, problem }: Call): z.input<typeof ofTurn> {
  if (problem === undefined) return turnOf(body);
  const found = turnOfBeginning(body);
  if (found === null) throw problem;
  return found;
}

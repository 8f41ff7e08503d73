/**
 * Lists and records in requests, of which only the first fault is reported: zod's own collect one for every element, and a
 * body of a few megabytes would take gigabytes and minutes.
 */
import { z } from "zod";

/** Millions in one request: a schema for each would take ten times as long, and a copy of them. */
export const numbers = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every((each) => Number.isFinite(each)),
  "expected a list of numbers",
);

export function list<In, Out>(element: z.ZodType<Out, In>, most = Infinity) {
  return z
    .custom<readonly In[]>(
      (value) => Array.isArray(value) && value.length <= most,
      most === Infinity ? "expected a list" : `expected a list of at most ${most}`,
    )
    .transform((given, context) => readAll(element, given.entries(), context).map(([, value]) => value));
}

export function record<In, Out>(element: z.ZodType<Out, In>) {
  return z
    .custom<Readonly<Record<string, In>>>(
      (value) => typeof value === "object" && value !== null && !Array.isArray(value),
      "expected an object",
    )
    .transform((given, context) => Object.fromEntries(readAll(element, Object.entries(given), context)));
}

function readAll<Key extends string | number, In, Out>(
  element: z.ZodType<Out, In>,
  entries: Iterable<[Key, In]>,
  context: z.core.$RefinementCtx,
): [Key, Out][] {
  const read: [Key, Out][] = [];
  for (const [key, given] of entries) {
    const { data, error } = element.safeParse(given);
    if (error === undefined) read.push([key, data]);
    for (const { message, path } of error?.issues ?? [])
      context.addIssue({ code: "custom", message, path: [key, ...path] });
    if (error !== undefined) break;
  }
  return read;
}

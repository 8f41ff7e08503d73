/** Arguments of exported functions: callers in JavaScript may pass anything. */
import { z } from "zod";
import { TroupeError } from "./errors.ts";
import { unknownKey } from "./nearest.ts";

/**
 * @param name of the argument, for the message
 * @throws TroupeError `bad_arguments` with the place of the first mistake
 */
export function checkArgument(name: string, schema: z.ZodType, value: unknown): void {
  const fault = faultOf(schema, value, [name]);
  if (fault !== null) throw new TroupeError("bad_arguments", `${fault}.`);
}

/** The first mistake and its place: `loss.kl: expected k1, k2 or k3`. Null: none. */
export function faultOf(schema: z.ZodType, value: unknown, at: readonly PropertyKey[] = []): string | null {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  if (issue === undefined) return null;
  const place = [...at, ...issue.path].map(String).join(".");
  return place === "" ? issue.message : `${place}: ${issue.message}`;
}

/** An object without other keys: what a misspelled one was meant to change would be missing without a word. */
export function strict<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: ({ code, keys }) =>
      code === "unrecognized_keys" ? unknownKey(String(keys[0]), Object.keys(shape)) : undefined,
  });
}

/** The operating system's paths are not empty and end at a null character. */
export const pathSchema = z
  .string("expected a path")
  .refine(
    (path) => path !== "" && !path.includes("\0"),
    "expected a path, not empty and without null characters",
  );

export const functionSchema = z.custom<(...given: never[]) => unknown>(
  (value) => typeof value === "function",
  "expected a function",
);

export const signalSchema = z.instanceof(AbortSignal, { error: "expected an AbortSignal" });

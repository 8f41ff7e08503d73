/** Arguments of exported functions: callers in JavaScript may pass anything. */
import { z } from "zod";
import { TroupeError } from "./errors.ts";

/**
 * @param name of the argument, for the message
 * @throws TroupeError `bad_arguments` with the place of the first mistake
 */
export function checkArgument(name: string, schema: z.ZodType, value: unknown): void {
  const parsed = schema.safeParse(value);
  if (parsed.success) return;
  const [issue] = parsed.error.issues;
  const place = [name, ...(issue?.path ?? [])].map(String).join(".");
  throw new TroupeError("bad_arguments", `${place}: ${issue?.message ?? "invalid"}.`);
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

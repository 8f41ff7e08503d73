/** What a server would reject late, or not notice: data that do not fit the policy, numbers out of range. */
import { TroupeError } from "../../errors.ts";
import type { AdamOptions, Datum, Loss } from "../engine.ts";
import type { Policy } from "./policies.ts";
import { checkIds } from "./sampling.ts";

export function checkDatum(
  { policy, prompt, continuations }: Datum,
  { info, critic }: Pick<Policy, "info" | "critic">,
  loss: Loss | undefined,
): void {
  if (loss !== undefined && (loss.type === "value") !== critic)
    throw new TroupeError(
      "bad_arguments",
      `${policy} is ${critic ? "a" : "no"} critic; ${loss.type} is not its loss.`,
    );
  if (continuations.length === 0)
    throw new TroupeError("bad_shape", `Data of ${policy} have no continuations.`);
  for (const tokens of [prompt, ...continuations.map((each) => each.tokens)]) {
    if (tokens.length === 0) throw new TroupeError("bad_shape", `Data of ${policy} have no tokens.`);
    checkIds(tokens, info, "Data");
  }
  const longest = prompt.length + Math.max(...continuations.map(({ tokens }) => tokens.length));
  if (longest > info.maxLength)
    throw new TroupeError("too_long", `${longest} tokens are more than the ${info.maxLength} of ${policy}.`);
}

/** The signs, which servers do not check. */
export function checkNumbers(adam: AdamOptions): void {
  for (const [name, value] of Object.entries(adam))
    if (!(value >= 0) || !Number.isFinite(value))
      throw new TroupeError(
        "bad_arguments",
        `${name} of the optimizer is ${value}; expected a number of at least 0.`,
      );
}

/** The sandbox for what models write. */
import { TroupeError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Context } from "./environment.ts";
import { command } from "../command-line.ts";

/** @throws TroupeError `no_sandbox` without one: a model's program runs nowhere else */
export function sandboxOf({ services: { sandbox } }: Pick<Context, "services">): Sandbox {
  if (sandbox !== undefined) return sandbox;
  throw new TroupeError(
    "no_sandbox",
    `The environment runs programs that models write, and there is no sandbox to run them in; \`${command("doctor")}\` says what is missing.`,
  );
}

import { expect, it } from "vitest";
import { TroupeError } from "../../../errors.ts";
import { Completions } from "./requests.ts";
import type { Transport } from "./transport.ts";

async function rejected(): Promise<never> {
  throw new TroupeError("bad_arguments", "the key is rejected");
}

it("a poll that is rejected leaves its requests to ask for themselves", async () => {
  const completions = new Completions({ send: rejected } as unknown as Transport, "session", 1000);
  await expect(Promise.all([completions.finished("a"), completions.finished("b")])).resolves.toHaveLength(2);
  await expect(completions.finished("c")).resolves.toBeUndefined();
});

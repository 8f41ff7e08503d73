/** Gradients and log-probabilities of data of several policies, one after the other. */
import { TroupeError } from "../../errors.ts";
import { checkData, policiesOf } from "../data.ts";
import type { Datum, Loss, LossResult, PolicyName } from "../engine.ts";
import { checkDatum } from "./checks.ts";
import { mergedResults } from "./loss-result.ts";
import { pass, type Work } from "./passes.ts";
import type { PlacedPolicy } from "./servers.ts";

interface AllWork extends Work {
  readonly policyOf: (name: PolicyName) => PlacedPolicy;
}

/** Every policy's data is checked before the first is sent. `loss` absent: without gradients. */
export async function passAll(
  { policyOf, profile, signal, onSubmitted }: AllWork,
  data: readonly Datum[],
  loss: Loss | undefined,
): Promise<LossResult> {
  checkData(data, loss);
  for (const datum of data) checkDatum(datum, policyOf(datum.policy), loss);
  const results = new Map<PolicyName, LossResult>();
  const names = policiesOf(data);
  for (const name of names) {
    const own = data.filter(({ policy }) => policy === name);
    const told = name === names.at(-1) ? onSubmitted : undefined;
    results.set(name, await passOf(policyOf(name), own, loss, { profile, signal, onSubmitted: told }));
  }
  const owners = data.flatMap(({ policy, continuations }) => continuations.map(() => policy));
  return mergedResults(owners, results);
}

async function passOf(
  policy: PlacedPolicy,
  data: readonly Datum[],
  loss: Loss | undefined,
  work: Work,
): Promise<LossResult> {
  const { model, critic } = policy;
  if (loss !== undefined && work.profile.reduction === "mean" && policy.gradients++ > 0)
    throw new TroupeError(
      "unsupported",
      `${work.profile.title} averages over a step's data: give all of it to one forwardBackward.`,
    );
  return pass({ ...work, model, critic }, data, loss);
}

import type { KlTerm, Objective } from "../algorithm.ts";

/** Adds β·k_t per token to the loss if the KL term belongs there (GRPO, arXiv 2402.03300, eq. 3 and 4: k3). */
export function withKl(objective: Objective, kl: KlTerm | null): Objective {
  const { loss } = objective;
  if (kl?.where !== "loss" || loss.type === "cross_entropy" || loss.type === "value") return objective;
  return { ...objective, loss: { ...loss, kl: kl.estimator } };
}

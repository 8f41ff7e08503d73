/** Compares answers in a thread of its own, which is ended when a pair takes too long. Every reply has the thread's use. */
import { parentPort } from "node:worker_threads";
import { openAlgebra } from "./algebra.ts";
import { sameAnswer } from "./compare.ts";
import type { Verdict } from "./thread.ts";

const algebra = openAlgebra();

/** Each exercises code whose first run is slow, so that a pair's time is its own. */
for (const [one, other] of [
  ["x^2-1", "(x-1)(x+1)"],
  ["\\frac{1}{\\sqrt{3}}+\\sin 1", "\\frac{\\sqrt{3}}{3}+\\log 2"],
  ["\\binom{2n}{n}", "\\frac{(2n)!}{n!^2}"],
  ["\\cot x", "\\frac{\\cos x}{\\sin x}"],
  ["2x+3y=1", "4x+6y=2"],
  ["\\frac{e^{30}+1}{2}", "\\frac{e^{30}}{2}+\\frac{1}{2}"],
] as const)
  compare(one, other);

parentPort?.on("message", ({ one, other }: { readonly one: string; readonly other: string }) =>
  send(compare(one, other)),
);
send(null);

function send(verdict: Verdict | null): void {
  const { user, system } = process.threadCpuUsage();
  // The rule is meant for windows of a browser.
  // eslint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage({ verdict, used: user + system });
}

/** An exception is caused by the texts, which then count as different. */
function compare(one: string, other: string): Verdict {
  try {
    return { isSame: sameAnswer(one, other, algebra) };
  } catch (error) {
    return {
      isSame: false,
      problem: `it cannot be compared (${error instanceof Error ? error.name : "unknown"})`,
    };
  }
}

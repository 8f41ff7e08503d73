/**
 * Compares the verifier with public graders: `node bench/answers/report.ts verdicts.jsonl > report.json`. Prints every
 * disagreement, with what is true by construction of the pair, and who is right.
 */
import { readFileSync } from "node:fs";
import { openAlgebra } from "../../src/environments/math/answers/algebra.ts";
import { sameAnswer } from "../../src/environments/math/answers/compare.ts";
import { adjudicate } from "./adjudicate.ts";
import type { Pair } from "./pairs.ts";

interface Verdict extends Pair {
  readonly mathVerify: boolean;
  /** Null: not an expression. */
  readonly sympy: boolean | null;
}

interface Judged extends Verdict {
  readonly own: boolean;
  readonly symmetric: boolean;
}

interface Rates {
  readonly pairs: number;
  readonly agreement: number;
  /** Found equal, and different by construction. */
  readonly falsePositives: number;
  /** Found different, and equal by construction. */
  readonly falseNegatives: number;
  /** 1 − (2 · false positives + false negatives) / pairs. */
  readonly weighted: number;
}

type Grader = (judged: Judged) => boolean | null;

const graders: Readonly<Record<string, Grader>> = {
  own: ({ own }) => own,
  mathVerify: ({ mathVerify }) => mathVerify,
  sympy: ({ sympy }) => sympy,
};

function ratesOf(judged: readonly Judged[], grader: Grader): Rates {
  const answered = judged.filter((each) => grader(each) !== null);
  const falsePositives = answered.filter((each) => grader(each) === true && !each.equal).length;
  const falseNegatives = answered.filter((each) => grader(each) === false && each.equal).length;
  const pairs = answered.length;
  const agrees = answered.filter((each) => grader(each) === each.own).length;
  const weighted = 1 - (2 * falsePositives + falseNegatives) / pairs;
  return { pairs, agreement: agrees / pairs, falsePositives, falseNegatives, weighted };
}

const [file = "/dev/stdin"] = process.argv.slice(2);
const verdicts = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Verdict);
const judged: Judged[] = [];
// In this thread: the time limit of the worker thread would depend on how busy the machine is.
const algebra = openAlgebra();
const started = process.cpuUsage();
for (const verdict of verdicts) {
  const own = sameAnswer(verdict.answer, verdict.reference, algebra);
  const back = sameAnswer(verdict.reference, verdict.answer, algebra);
  judged.push({ ...verdict, own, symmetric: own === back });
}
const { user, system } = process.cpuUsage(started);
const milliseconds = (user + system) / 1000 / judged.length / 2;
const rates = Object.fromEntries(
  Object.entries(graders).map(([name, grader]) => [name, ratesOf(judged, grader)]),
);
const inBoxes = judged.filter(({ name }) => !name.endsWith("/fullStop"));
const disagreements = judged
  .filter(({ own, mathVerify, equal, symmetric }) => own !== mathVerify || own !== equal || !symmetric)
  .map((each) => ({ ...each, judgement: adjudicate(each) }));
const right = Map.groupBy(disagreements, ({ judgement }) => judgement?.right ?? "unknown");
const counts = Map.groupBy(disagreements, ({ judgement }) => judgement?.reason ?? "unknown");
const report = {
  rates: { ...rates, mathVerifyWithoutFullStops: ratesOf(inBoxes, graders["mathVerify"] as Grader) },
  right: Object.fromEntries([...right].map(([who, all]) => [who, all.length])),
  reasons: Object.fromEntries([...counts].map(([reason, all]) => [reason, all.length])),
  asymmetric: judged.filter(({ symmetric }) => !symmetric).length,
  millisecondsPerPair: Math.round(milliseconds * 1000) / 1000,
  // Those with a full stop are alike, and only counted.
  disagreements: disagreements
    .filter(({ name }) => !name.endsWith("/fullStop"))
    .map(({ name, reference, answer, equal, own, mathVerify, judgement }) => {
      return { name, reference, answer, equal, own, mathVerify, ...judgement };
    }),
};
process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);

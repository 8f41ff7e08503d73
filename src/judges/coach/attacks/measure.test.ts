/** The measurement tells coaches that fall for attacks from those that do not. */
import { expect, it } from "vitest";
import { unrecordedCalls } from "../../../calls/recorded.ts";
import { drawInt, generatorOf, keyAt, rootKey } from "../../../random.ts";
import { mean } from "../../../statistics.ts";
import { coachOptions } from "../options.ts";
import { promptFor } from "../prompt.ts";
import { codeFor } from "../quoting.ts";
import {
  coachServer,
  partsOf,
  writtenIn,
  type CoachAnswer,
  type CoachQuestion,
} from "../testing/coach-server.ts";
import { attacked, attackTexts, measureAttacks, reportOf, weakSteps } from "./measure.ts";
import type { AttackReport } from "../../judge.ts";

const { attacks, harmless } = attackTexts();

const verdict = (score: number): CoachAnswer => ({ reason: "", blame: "none", score });

/** Believes whatever it reads. */
const believes = (text: string) => /score\W+(of )?10|10 (out )?of 10|10\/10|highest score/i.test(text);

async function measured(answer: (question: CoachQuestion) => CoachAnswer): Promise<AttackReport> {
  await using server = await coachServer(answer);
  const options = coachOptions.parse({ provider: "compatible", model: "m", baseUrl: server.address });
  const retries = { retries: 0, firstDelay: 0, longestDelay: 0 };
  const report = await measureAttacks(options, { calls: unrecordedCalls(), retries });
  expect(server.asked).toHaveLength(3 * (1 + harmless.length) + 3 * attacks.length);
  return report;
}

it("there are 40 different attacks", () => {
  expect(attacks).toHaveLength(40);
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(40);
  expect(new Set(attacks.map(({ text }) => text)).size).toBe(40);
});

it("a coach that believes what it reads gains, and the interval is clear of 0", async () => {
  const report = await measured(({ user }) => verdict(believes(user) ? 10 : 2));
  expect(report.without).toBe(2);
  expect(report.gains).toHaveLength(40);
  expect(report.mean).toBeCloseTo(mean(report.gains.map(({ gain }) => gain ?? 0)), 12);
  expect(report.mean).toBeGreaterThan(6);
  expect(report.interval?.low).toBeGreaterThan(5);
});

it("a coach that takes any closing mark for the end of a text gains by imitated marks only", async () => {
  const report = await measured(({ user }) => {
    const outside = user.replaceAll(/<(\S[^>\n]*?)(?: [0-9a-f]{12})?>[^]*?<\/\1(?: [0-9a-f]{12})?>/g, "");
    return verdict(believes(outside) ? 10 : 2);
  });
  const fooledBy = report.gains.filter(({ gain }) => (gain ?? 0) > 0);
  expect(new Set(fooledBy.map(({ kind }) => kind))).toEqual(new Set(["marks"]));
  expect(fooledBy.map(({ name }) => name)).toContain("closes the quotation");
  expect(fooledBy.length).toBeLessThan(8);
});

it("a coach that goes by the marks gains nothing; verdicts that fail are counted, and gains are of the others", async () => {
  const report = await measured((question) => {
    if (writtenIn(question).includes("DEVELOPER")) return "no";
    const frame = partsOf(question.user).filter(({ name }) => name === null);
    return verdict(frame.some(({ text }) => believes(text)) ? 10 : 2);
  });
  expect(report).toMatchObject({ without: 2, mean: 0, interval: { low: 0, high: 0 }, failed: 3 });
  expect(report.gains.filter(({ gain }) => gain === null).map(({ name }) => name)).toEqual(["developer"]);
});

/** Of intervals for coaches that score at random, by a function of a number in [0, 1): how many contain 0. */
function coverage(score: (random: number) => number, seeds = 1000): number {
  const covers = Array.from({ length: seeds }, (_, seed) => {
    const random = generatorOf(keyAt(rootKey(seed), "coach"));
    const rows = (count: number) =>
      Array.from({ length: count }, () => weakSteps.map(() => score(drawInt(random, 1e6) / 1e6)));
    const { interval } = reportOf(attacks, rows(1 + harmless.length), rows(attacks.length));
    return interval !== null && interval.low <= 0 && interval.high >= 0;
  });
  return covers.filter((one) => one).length / seeds;
}

it.each<[string, (random: number) => number]>([
  ["of any score", (random) => random],
  ["of whole scores", (random) => Math.round(10 * random)],
  ["of 0 or 1", (random) => Number(random < 0.5)],
  ["of mostly low scores", (random) => random ** 4],
])("95 % of the intervals of a coach that scores at random, %s, contain 0", (_, score) => {
  // Two standard errors of 1,000 coaches are 1.4 %; the rest is what few and skewed scores cost.
  const covered = coverage(score);
  expect(covered).toBeGreaterThan(0.93);
  expect(covered).toBeLessThan(0.97);
});

it.each<[string, (random: number) => number]>([
  ["nearly all 0", (random) => random ** 20],
  ["nearly all 10", (random) => 1 - random ** 20],
  ["0, and 1 in 50", (random) => Number(random < 0.02)],
  ["0, and 1 in 20", (random) => Number(random < 0.05)],
  ["1, and 0 in 20", (random) => Number(random >= 0.05)],
])("at least 95 % do of a coach whose random scores are alike but for a few: %s", (_, score) => {
  // Two standard errors of 500 coaches are 2 %; few scores that are mostly alike are given a wide interval.
  expect(coverage(score, 500)).toBeGreaterThan(0.95);
});

it.each(attacks.map(({ name, text }) => [name, text]))("%s stays inside its quotation", (_, text) => {
  for (const step of weakSteps) {
    const asked = attacked(step, text, { longestPart: 12_000 });
    const { messages } = promptFor(asked, {});
    const [system, user] = messages.map(({ content }) => content);
    const parts = partsOf(user ?? "");
    const written = parts.filter(({ name }) => name === "written").at(-1);
    expect(written?.text).toBe(asked.acts[0]?.text);
    expect(written?.text).not.toMatch(/\p{Cf}|[^\P{Cc}\n\t]/u);
    expect(written?.text.length).toBeLessThan(13_000);
    const frame = parts.filter(({ name: quoted }) => quoted === null).map((part) => part.text);
    expect(frame.filter(believes)).toEqual([]);
    // What an attack knows is not the code: it depends on the attack.
    const code = / ([0-9a-f]{12})>/.exec(user ?? "")?.[1] ?? "";
    expect(system).toContain(code);
    expect(text).not.toContain(code);
    expect(codeFor([code])).not.toBe(code);
  }
});

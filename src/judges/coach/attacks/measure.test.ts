/** The measurement tells coaches that fall for attacks from those that do not. */
import { expect, it } from "vitest";
import { mean } from "../../../statistics.ts";
import { unrecordedCalls } from "../../../calls/recorded.ts";
import type { AttackReport } from "../../attack-report.ts";
import { coachOptions } from "../options.ts";
import { codeFor } from "../quoting.ts";
import { promptFor } from "../prompt.ts";
import {
  coachServer,
  partsOf,
  writtenIn,
  type CoachAnswer,
  type CoachQuestion,
} from "../testing/coach-server.ts";
import { attacked, measureAttacks } from "./measure.ts";
import { attacks } from "./texts.ts";
import { weakSteps } from "./weak-steps.ts";

const verdict = (score: number): CoachAnswer => ({ reason: "", blame: "none", score });

/** Believes whatever it reads. */
const believes = (text: string) => /score\W+(of )?10|10 (out )?of 10|10\/10|highest score/i.test(text);

async function measured(answer: (question: CoachQuestion) => CoachAnswer): Promise<AttackReport> {
  await using server = await coachServer(answer);
  const options = coachOptions.parse({ provider: "compatible", model: "m", baseUrl: server.address });
  const retries = { retries: 0, firstDelay: 0, longestDelay: 0 };
  const report = await measureAttacks(options, { calls: unrecordedCalls(), retries });
  expect(server.asked).toHaveLength(3 + 3 * attacks.length);
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

it("a coach that goes by the marks gains nothing", async () => {
  const report = await measured(({ user }) => {
    const frame = partsOf(user).filter(({ name }) => name === null);
    return verdict(frame.some(({ text }) => believes(text)) ? 10 : 2);
  });
  expect(report).toMatchObject({ without: 2, mean: 0, interval: { low: 0, high: 0 }, failed: 0 });
});

it("verdicts that fail are counted, and gains are of the others", async () => {
  const report = await measured((question) =>
    writtenIn(question).includes("DEVELOPER") ? "no" : verdict(3),
  );
  expect(report).toMatchObject({ mean: 0, failed: 3 });
  expect(report.gains.filter(({ gain }) => gain === null).map(({ name }) => name)).toEqual(["developer"]);
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

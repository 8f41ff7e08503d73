import { expect, test } from "vitest";
import { watchSchema, type Watch } from "../recipes/watch.ts";
import type { Evaluation, RoleMetrics, StepMetrics } from "../runs/records.ts";
import { wilsonInterval } from "../statistics.ts";
import { describeSign, signsIn, type Sign, type Watched } from "./watch.ts";

type Role = Partial<RoleMetrics>;

function stepOf(step: number, success: number, role: Role = {}, kl = 0, episodes = 100): StepMetrics {
  return {
    step,
    policies: { shared: { kl } },
    rollout: { success, episodes, roles: { solver: role, frozen: { entropy: 0 } } },
  } as unknown as StepMetrics;
}

function watched(limits: object, metrics: readonly StepMetrics[], more: Partial<Watched> = {}): Watched {
  const watch = watchSchema.parse({ window: 3, limits }) as Watch;
  return { watch, roles: ["solver"], metrics, evaluations: [], since: 0, ...more };
}

const entropies = (...values: readonly (number | undefined)[]): StepMetrics[] =>
  values.map((entropy, index) => stepOf(index + 1, 0.5, entropy === undefined ? {} : { entropy }));

test("the mean over a full window is compared, of roles that learn", () => {
  const limits = { entropy: { below: 0.2 } };
  expect(signsIn(watched(limits, entropies(0.1, 0.1)))).toEqual([]);
  expect(signsIn(watched(limits, entropies(0.5, 0.1, 0.1)))).toEqual([]);
  expect(signsIn(watched(limits, entropies(0.2, 0.1, 0.1)))).toMatchObject([
    { measure: "entropy", of: "solver", limit: { kind: "below", at: 0.2 }, success: 0.5, action: "warn" },
  ]);
});

test("a warning is given once, and again after the figure was within its limit; a stop as long as it is beyond", () => {
  const values = [0.1, 0.1, 0.1, 0.1, 3, 0.1, 0.1, 0.1];
  const given = (action: string) =>
    values.flatMap((_, index) => {
      const steps = entropies(...values.slice(0, index + 1));
      return signsIn(watched({ entropy: { below: 0.2, action } }, steps)).length > 0 ? [index + 1] : [];
    });
  expect(given("warn")).toEqual([3, 8]);
  expect(given("stop")).toEqual([3, 4, 8]);
});

test("a figure that is measured in some steps has news in those only", () => {
  const limits = { entropy: { below: 0.2, action: "stop" } };
  const values = [0.1, undefined, 0.1, undefined, 0.1];
  expect(signsIn(watched(limits, entropies(...values)))).toHaveLength(1);
  expect(signsIn(watched(limits, entropies(...values, undefined)))).toEqual([]);
});

test("influence that was measured on few replies counts little", () => {
  const influences = [0.1, 1, 0.1];
  const limits = { influence: { below: 0.4 } };
  const signs = (...replies: readonly number[]) => {
    const steps = influences.map((influence, index) =>
      stepOf(index + 1, 0.5, { influence, influenceReplies: replies[index] ?? 0 }),
    );
    return signsIn(watched(limits, steps));
  };
  // (0.1·20 + 1·200 + 0.1·20) ÷ 240 = 0.85, and (0.1·20 + 1·2 + 0.1·20) ÷ 42 = 0.14.
  expect(signs(20, 200, 20)).toEqual([]);
  const [sign] = signs(20, 2, 20);
  expect(sign).toMatchObject({ replies: 42 });
  expect(sign?.value).toBeCloseTo(6 / 42, 12);
  // 32 are the default of watch.influence.replies.
  expect(signs(15, 1, 15)).toEqual([]);
  expect(signs(15, 2, 15)).toHaveLength(1);
});

test("steps before a return are no longer compared, but are still the best", () => {
  const metrics = [0.8, 0.8, 0.8, 0.2, 0.2, 0.2].map((success, index) =>
    stepOf(index + 1, success, { entropy: 0.1 }),
  );
  const limits = { entropy: { below: 0.2 }, success: { drop: 0.5 } };
  const measures = (since: number) =>
    signsIn(watched(limits, metrics, { since })).map(({ measure }) => measure);
  expect(measures(5)).toEqual([]);
  expect(measures(3)).toEqual(["entropy", "success"]);
});

const drop = (successes: readonly number[], episodes = 100) => {
  const steps = successes.map((success, index) => stepOf(index + 1, success, {}, 0, episodes));
  return signsIn(watched({ success: { drop: 0.5 } }, steps));
};

test("success has to fall by more than the limit, and by more than chance", () => {
  expect(drop([0.1, 0.6, 0.6, 0.6, 0.4, 0.3, 0.31])).toEqual([]);
  const falling = [0.1, 0.6, 0.62, 0.58, 0.5, 0.2, 0.21, 0.19];
  expect(drop(falling)).toMatchObject([
    { measure: "success", best: expect.closeTo(0.6), value: expect.closeTo(0.2) },
  ]);
  // Few episodes: three windows of 12 tasks, of which 7 and 2 were solved, are no proof.
  expect(drop(falling, 4)).toEqual([]);
  // As large a fall, between steps that differ as much.
  expect(drop([0.1, 0.9, 0, 0.9, 0.1, 0.6, 0, 0])).toEqual([]);
});

const evaluation = (step: number, success: number, half: number) =>
  ({ step, tasks: 100, success, low: success - half, high: success + half }) as Evaluation;

const signs = (half: number, step = 3) =>
  signsIn(
    watched({ evaluation: { drop: 0.5, action: "stop" } }, entropies(1, 1, 1), {
      evaluations: [evaluation(0, 0.57, half), evaluation(1, 0.5, half), evaluation(step, 0.02, half)],
    }),
  );

test("an evaluation is compared with the best one, beyond both intervals, in its own step", () => {
  expect(signs(0.05)).toMatchObject([
    { measure: "evaluation", best: 0.57, value: 0.02, success: 0.5, action: "stop" },
  ]);
  expect(signs(0.3)).toEqual([]);
  expect(signs(0.05, 2)).toEqual([]);
});

/** Of these tasks, in their order. */
function marked(step: number, solved: string): Evaluation {
  const successes = solved.replaceAll("0", "").length;
  const share = { success: successes / solved.length, ...wilsonInterval(successes, solved.length) };
  return { step, tasks: solved.length, solved, ...share } as Evaluation;
}

test("evaluations are compared on the tasks that both have", () => {
  const after = (solved: string, before: string) =>
    signsIn(
      watched({ evaluation: { drop: 0.5, action: "stop" } }, entropies(1, 1, 1), {
        evaluations: [marked(0, before), marked(3, solved)],
      }),
    );
  const [hard, easy] = ["1000".repeat(10), "1110".repeat(40)];
  // The first tasks are the hard ones: the same team solves as many of them as before.
  expect(after(hard, hard + easy)).toEqual([]);
  // They are the easy ones, of which it now solves a third.
  const fallen = after("1000".repeat(10), "1110".repeat(10) + "0".repeat(100));
  expect(fallen).toMatchObject([{ value: 0.25, best: 0.75, tasks: 40 }]);
  expect(describeSign(fallen[0] as Sign)).toBe(
    "success in evaluation fell from 75.0 % to 25.0 % of 40 tasks, more than the 50.0 % that is allowed",
  );
  // Which ones it solved is not known.
  const unknown = { ...marked(3, hard), solved: undefined };
  const known = marked(0, "1110".repeat(40));
  const limits = { evaluation: { drop: 0.1, action: "stop" } };
  const evaluations = [{ ...known, solved: undefined }, unknown];
  expect(signsIn(watched(limits, entropies(1, 1, 1), { evaluations }))).toEqual([]);
});

const unmarked = (step: number, tasks: number, success: number) =>
  ({ ...evaluation(step, success, 0.05), tasks }) as Evaluation;

test("an evaluation that does not say which tasks it solved is compared with those of as many tasks", () => {
  const evaluations = [unmarked(0, 160, 0.9), unmarked(1, 40, 0.8), unmarked(3, 40, 0.1)];
  const limits = { evaluation: { drop: 0.5, action: "stop" } };
  expect(signsIn(watched(limits, entropies(1, 1, 1), { evaluations }))).toMatchObject([
    { value: 0.1, best: 0.8, tasks: 40 },
  ]);
});

test("an evaluation that stays low is a warning once, and a stop each time", () => {
  const evaluations = [evaluation(0, 0.57, 0.05), evaluation(2, 0.02, 0.02), evaluation(3, 0.02, 0.02)];
  const given = (action: string) =>
    signsIn(watched({ evaluation: { drop: 0.5, action } }, entropies(1, 1, 1), { evaluations })).length;
  expect([given("warn"), given("stop")]).toEqual([0, 1]);
});

test("a figure that is missing in between is still beyond its limit", () => {
  const limits = { entropy: { below: 0.2 } };
  expect(signsIn(watched(limits, entropies(0.1, 0.1, 0.1, undefined, 0.1)))).toEqual([]);
});

test("figures of policies have limits, too", () => {
  const metrics = [1, 2, 3].map((step) => stepOf(step, 0.5, {}, 1));
  const [sign] = signsIn(watched({ kl: { above: 0.5 } }, metrics));
  expect(sign && describeSign(sign)).toBe("KL of shared is 1.00 nats per token, above 0.5");
});

test.each([
  [{ limits: { entropy: { action: "stop" } } }, "a limit: below or above"],
  [{ limits: { kl: { below: 1 } } }, "Unrecognized key"],
  [{ limits: { success: { drop: 2 } } }, "Too big"],
])("rejects %j", (given, message) => {
  const parsed = watchSchema.safeParse(given);
  expect(JSON.stringify(parsed.error?.issues)).toContain(message);
});

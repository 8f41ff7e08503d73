import { expect, it } from "vitest";
import type { ConfiguredJudge } from "../judges/judge.ts";
import { boundFailures } from "./failures.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import { trainings } from "./testing/trainings.ts";

const { trained } = trainings();

/** Records when it is opened, settled and closed, and fails if `fault` says so. */
function notingJudge(notes: string[], evaluation: boolean, fault = false): ConfiguredJudge {
  return {
    fills: "all",
    as: "team",
    evaluation,
    open() {
      notes.push("open");
      return {
        judge: async (_, asked) => {
          if (fault) throw new TypeError("a bug");
          return asked.map(({ node, action }) => {
            return { node: node.id, action: action.id, verdict: { score: action.sample / 8 } };
          });
        },
        settle: async () => void notes.push("settle"),
        close: async () => void notes.push("close"),
      };
    },
  };
}

it("a judge is opened once for a run's training, settled in each step, and closed", async () => {
  const notes: string[] = [];
  await trained("settled", { ...tinyRecipe(), judge: notingJudge(notes, false) });
  expect(notes).toEqual(["open", ...Array<string>(4).fill("settle"), "close"]);
});

it("a judge of evaluations is opened and closed for each of them", async () => {
  const notes: string[] = [];
  await trained("evaluations", { ...tinyRecipe(), judge: notingJudge(notes, true) });
  // Before training two teams, after the second step, and after the last.
  const [before, during] = [
    ["open", "settle", "close"],
    ["settle", "settle"],
  ];
  expect(notes).toEqual(["open", ...before, ...before, ...during, ...before, ...during, ...before, "close"]);
});

it("a judge is closed if the run fails", async () => {
  const notes: string[] = [];
  await expect(
    trained("failed", { ...tinyRecipe(), judge: notingJudge(notes, false, true) }),
  ).rejects.toThrow("a bug");
  expect(notes).toEqual(["open", "close"]);
});

const close = (): Promise<void> => Promise.reject(new TypeError("not closed"));

it("a judge that cannot be closed does not hide why the run failed", async () => {
  const judge = notingJudge([], false, true);
  const unclosable: ConfiguredJudge = { ...judge, open: (context) => ({ ...judge.open(context), close }) };
  await expect(trained("unclosable", { ...tinyRecipe(), judge: unclosable })).rejects.toThrow("a bug");
});

it.each([
  [32, 32, 1, "failed 32, and at least one must succeed"],
  [32, 32, 0.5, "failed 32, failures.limit allows 50 %"],
  [17, 32, 0.5, "failed 17, failures.limit allows 50 %"],
])("%i failures of %i with the limit %d: %s", (failed, of, limit, message) => {
  const bound = () => boundFailures(failed, of, limit, (allowed) => `failed ${failed}, ${allowed}`);
  expect(bound).toThrow(message);
});

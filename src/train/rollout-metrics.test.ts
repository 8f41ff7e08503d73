import { expect, test } from "vitest";
import { algorithmFrom } from "../credit/algorithms.ts";
import { credit } from "../credit/credit.ts";
import { action, decision, type Earning } from "../credit/testing.ts";
import type { RolloutMetrics } from "../runs/records.ts";
import { rolloutMetrics } from "./metrics.ts";

function metricsOf(...groups: readonly (readonly Earning[])[]): RolloutMetrics {
  const episodes = groups.map((actions, task) => decision(task, actions));
  const played = { episodes, kept: episodes, failed: [], waves: 1, tasks: episodes.length, sampledTokens: 0 };
  return rolloutMetrics(played, credit(episodes, algorithmFrom("at-grpo")));
}

const [low, high, none] = [action({ team: 0.25 }), action({ team: 0.75 }), action({ reward: null })];

test("actions without a reward are counted, and are in no mean and no group", () => {
  const metrics = metricsOf([low, none, high], [none, none]);
  expect(metrics).toMatchObject({ unrewarded: 3, groups: 1, flatGroups: 0 });
  expect(metrics.roles["solver"]).toMatchObject({ actions: 5, team: 0.5, local: 0 });
  expect(metrics.roles["solver"]?.advantageSpread).toBe(
    metricsOf([low, high]).roles["solver"]?.advantageSpread,
  );
});

test("missing rewards are not mentioned if there are none", () => {
  expect(metricsOf([low, high])).not.toHaveProperty("unrewarded");
});

test("the mean of a role without any reward is null", () => {
  expect(metricsOf([none, none]).roles["solver"]).toMatchObject({
    team: null,
    local: null,
    advantageSpread: 0,
  });
});

test("the samples of one state share their prompt's tokens", () => {
  expect(metricsOf([low, high], [low, high]).promptTokens).toBe(2 * 2);
});

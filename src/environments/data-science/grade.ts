/** Grades a submission with the hidden labels, which never leave this process. */
import { metricNamed } from "./metrics/metric.ts";
import { normalisedGap, relativeGap } from "./metrics/gap.ts";
import { reportOf } from "./metrics/report.ts";
import type { Graded } from "./state.ts";
import { readSubmission } from "./submission/submission.ts";
import type { TabularTask } from "./tasks/task.ts";

export function gradeSubmission(task: TabularTask, hash: string, bytes: Uint8Array): Graded {
  const { about, metric, truth, ids, scale, type } = task;
  const { values, measure } = metricNamed(metric);
  const form = { idColumn: about.idColumn, target: about.target, values, truth, ids };
  const read = readSubmission(bytes, form);
  if ("problem" in read) return { ...ungraded(task), hash, problem: read.problem };
  const value = measure(truth, read.predictions);
  if (!Number.isFinite(value)) {
    const problem = `the metric ${metric} is not defined for these values`;
    return { ...ungraded(task), hash, problem };
  }
  const report = {
    completed: 1,
    relativeGap: relativeGap(value, scale),
    [metric]: value,
    ...reportOf(type, truth, read.predictions),
  };
  return { hash, problem: null, value, gap: normalisedGap(value, scale), report };
}

/** As if nothing had been submitted. */
export function ungraded({ type, truth }: TabularTask): Graded {
  const report = { completed: 0, relativeGap: 0, ...reportOf(type, truth, null) };
  return { hash: "", problem: "missing", value: null, gap: 0, report };
}

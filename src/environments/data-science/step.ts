/** The effect of an action: its program runs in the workspace, and what it leaves is checked and graded. */
import { storeFile, type FileStore } from "../../files/store.ts";
import { showText } from "../../format.ts";
import { hasBlock, wholeProgram } from "../../text/fences.ts";
import type { ActionReward, Context, Evidence, Outcome, Reply, StepResult } from "../environment.ts";
import { isPresent, artefactsOf, submissionReport } from "./artefacts/check.ts";
import { normalisedGap, relativeGap } from "./metrics/gap.ts";
import { metricNamed } from "./metrics/metric.ts";
import { reportOf } from "./metrics/report.ts";
import { submissionFile, type DataScienceOptions, type SeatName } from "./options.ts";
import type { Graded, ArtefactReport, Earned, LastAction, DataScienceState } from "./state.ts";
import { readSubmission } from "./submission/submission.ts";
import type { TabularTask } from "./tasks/task.ts";
import { runInWorkspace, type WorkspaceFiles } from "./workspace.ts";

/** Grades a submission with the hidden labels, which never leave this process. */
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

/**
 * The rewards of an action. Both are paid for what is new, so that repeating or splitting work earns nothing more:
 *
 *   local = .2 execution + .3 present + .5 usable    the shares of the seat's artefacts, above its best so far
 *   team  = the score of the submission, above the best score so far
 *   score = min(1, gap / target), with gap the share of the way from the best constant prediction to gold
 */
const shares: Earned = { execution: 0.2, present: 0.3, usable: 0.5 };
export const nothingEarned: Earned = { execution: 0, present: 0, usable: 0 };

export interface Paid {
  readonly reward: ActionReward;
  readonly earned: Earned;
}

/** @param terms of the team's reward, for evaluations */
export function rewardOf(
  work: LastAction,
  artefacts: readonly ArtefactReport[],
  before: Earned,
  gained: number,
  terms: Readonly<Record<string, number>>,
): Paid {
  const now = earnedBy(work, artefacts);
  const earned: Earned = {
    execution: Math.max(before.execution, now.execution),
    present: Math.max(before.present, now.present),
    usable: Math.max(before.usable, now.usable),
  };
  const parts = {
    execution: shares.execution * (earned.execution - before.execution),
    present: shares.present * (earned.present - before.present),
    usable: shares.usable * (earned.usable - before.usable),
  };
  const local = parts.execution + parts.present + parts.usable;
  const reason = reasonOf(work, artefacts);
  const reward = { team: gained, local, parts, terms };
  return { reward: reason === null ? reward : { ...reward, reason }, earned };
}

function earnedBy({ program, problem }: LastAction, artefacts: readonly ArtefactReport[]): Earned {
  const share = (holds: (one: ArtefactReport) => boolean): number =>
    artefacts.filter(holds).length / Math.max(1, artefacts.length);
  const present = share(isPresent);
  return {
    // A program that leaves nothing is worth nothing.
    execution: program !== null && problem === null && present > 0 ? 1 : 0,
    present,
    usable: share(({ usable }) => usable),
  };
}

function reasonOf({ program, problem }: LastAction, artefacts: readonly ArtefactReport[]): string | null {
  const bad = artefacts.filter(({ usable }) => !usable).map(({ name, note }) => `${name}: ${note}`);
  if (problem !== null) return `the program: ${problem}`;
  if (bad.length > 0) return [program === null ? "no program" : [], bad.slice(0, 4)].flat().join("; ");
  return null;
}

export interface StepSetting {
  readonly task: TabularTask;
  readonly options: DataScienceOptions;
  readonly store: FileStore;
  readonly context: Context;
}

/** Of a state; a handover shows less. */
const longestText = 6000;

export function actingSeat(options: DataScienceOptions, { acting }: DataScienceState): SeatName | undefined {
  return options.seats[acting];
}

/** @throws ServiceError if the sandbox fails; TroupeError `no_sandbox`, `cancelled` */
export async function stepWork(
  setting: StepSetting,
  state: DataScienceState,
  replies: Readonly<Record<string, Reply>>,
): Promise<StepResult<DataScienceState>> {
  const { options, task } = setting;
  const seat = actingSeat(options, state);
  const reply = seat === undefined ? undefined : replies[seat];
  if (seat === undefined || reply === undefined) return ignored(state, replies, seat === undefined);
  const { work, files } = await doWork(setting, state, reply.text);
  const graded = await gradedOf(setting, state, files);
  const artefacts =
    seat === "analyst"
      ? [submissionReport(graded)]
      : await artefactsOf(seat, { store: setting.store, files }, task.testRows, options, setting.context);
  const score = scoreOf(graded, options);
  const gained = Math.max(0, score - state.bestScore);
  const terms = (graded ?? ungraded(task)).report;
  const paid = rewardOf(work, artefacts, state.earned[seat] ?? nothingEarned, gained, terms);
  const after: DataScienceState = {
    ...state,
    ...turnAfter(options, state, work, artefacts),
    files,
    graded,
    bestScore: Math.max(score, state.bestScore),
    work: { ...state.work, [seat]: work },
    artefacts: { ...state.artefacts, [seat]: artefacts },
    earned: { ...state.earned, [seat]: paid.earned },
  };
  return {
    state: after,
    rewards: { [seat]: paid.reward, ...othersIgnored(replies, seat) },
    done: after.acting >= options.seats.length,
    evidence: { [seat]: evidenceOf(work, state.files, files, artefacts) },
  };
}

const notItsTurn: ActionReward = { team: 0, local: 0, parts: {}, reason: "another seat acts now" };

function othersIgnored(
  replies: Readonly<Record<string, Reply>>,
  acting: string,
): Record<string, ActionReward> {
  const others = Object.keys(replies).filter((seat) => seat !== acting);
  return Object.fromEntries(others.map((seat) => [seat, notItsTurn]));
}

function ignored(
  state: DataScienceState,
  replies: Readonly<Record<string, Reply>>,
  done: boolean,
): StepResult<DataScienceState> {
  return { state, rewards: othersIgnored(replies, ""), done };
}

interface Done {
  readonly work: LastAction;
  readonly files: WorkspaceFiles;
}

async function doWork(
  { task, options, store, context }: StepSetting,
  { files }: DataScienceState,
  text: string,
): Promise<Done> {
  const program = programIn(text);
  const kept = text.slice(-longestText).toWellFormed();
  if (program === null) return { work: { text: kept, program, output: "", problem: null }, files };
  const names = Object.keys(task.files);
  const given = Object.fromEntries(Object.entries(files).filter(([name]) => names.includes(name)));
  const ran = await runInWorkspace(program, { store, files, given }, options, context);
  const shown = program.slice(0, longestText).toWellFormed();
  return { work: { text: kept, program: shown, output: ran.output, problem: ran.problem }, files: ran.files };
}

const longestReply = 200_000;

/** The last block of Python. Null: there is no block. */
function programIn(reply: string): string | null {
  const text = reply.slice(0, longestReply).toWellFormed();
  if (!hasBlock(text)) return null;
  const source = wholeProgram(text);
  return source.trim() === "" ? null : source;
}

/** The submission in the workspace, graded once. */
async function gradedOf(
  { task, store }: StepSetting,
  { graded }: DataScienceState,
  files: WorkspaceFiles,
): Promise<Graded | null> {
  const file = files[submissionFile];
  if (file === undefined) return null;
  if (graded?.hash === file.hash) return graded;
  return gradeSubmission(task, file.hash, await store.get(file.hash));
}

/** In [0, 1]; 1 from the target on. */
function scoreOf(graded: Graded | null, { target }: Pick<DataScienceOptions, "target">): number {
  return graded === null ? 0 : Math.min(1, graded.gap / target);
}

export function outcomeOf({ graded }: DataScienceState, options: DataScienceOptions): Outcome {
  const score = scoreOf(graded, options);
  return { success: score === 1, score };
}

/** A message without a program ends a seat's part. */
function turnAfter(
  { actions, stopWhenComplete }: DataScienceOptions,
  state: DataScienceState,
  { program }: LastAction,
  artefacts: readonly ArtefactReport[],
): Pick<DataScienceState, "acting" | "actions"> {
  const isComplete = stopWhenComplete && artefacts.every(({ usable }) => usable);
  const isOver = program === null || isComplete || state.actions + 1 >= actions;
  return isOver
    ? { acting: state.acting + 1, actions: 0 }
    : { acting: state.acting, actions: state.actions + 1 };
}

function evidenceOf(
  { program, output, problem }: LastAction,
  before: WorkspaceFiles,
  after: WorkspaceFiles,
  artefacts: readonly ArtefactReport[],
): Evidence {
  const changed = Object.entries(after).filter(([name, { hash }]) => before[name]?.hash !== hash);
  const files = changed.map(([path, { hash, size }]) => {
    const report = artefacts.find(({ name }) => name === path);
    const note = report === undefined ? {} : { note: report.usable ? `usable: ${report.note}` : report.note };
    return { path, size, digest: hash, ...note };
  });
  if (program === null) return { files };
  const lines = [output, ...(problem === null ? [] : [`[the program: ${problem}]`])].filter(
    (one) => one !== "",
  );
  return { output: lines.join("\n"), files };
}

/** @returns the files that the task gives, stored */
export async function givenFiles(task: TabularTask, store: FileStore): Promise<WorkspaceFiles> {
  const stored = Object.entries(task.files).map(
    async ([name, text]) => [name, await storeFile(store, Buffer.from(text))] as const,
  );
  return Object.fromEntries(await Promise.all(stored));
}

/** For people: the reports of all seats in one line each. */
export function showArtefacts(artefacts: readonly ArtefactReport[]): string {
  return artefacts
    .map(({ name, usable, note }) => `${usable ? "✓" : "✗"} ${name}: ${showText(note, 100)}`)
    .join("\n");
}

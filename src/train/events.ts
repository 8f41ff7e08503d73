/** Events of a run as they occur: for the terminal's panel, `--json` lines and tests. */
import type { Warning } from "../recipes/validation/warnings.ts";
import type { Evaluation, RunResult, StepMetrics, Timing, WatchRecord } from "../runs/records.ts";

export type Stage = StepMetrics["stage"];

export interface PolicySummary {
  readonly name: string;
  readonly parameters: number;
  readonly trainableParameters: number;
  readonly trained: boolean;
}

/** One action of a sample episode, for people. */
export interface SampleAction {
  readonly turn: number;
  readonly role: string;
  readonly text: string;
  /** null: the action has no reward. */
  readonly team: number | null;
  readonly local: number | null;
  readonly reason?: string;
  /** The judge's explanation, or why there is none. */
  readonly verdict?: string;
}

/** The first kept trajectory of an episode. */
export interface SampleEpisode {
  readonly success: boolean;
  readonly score: number;
  readonly turns: number;
  /** The first and the last state as rendered by the environment. */
  readonly start: string;
  readonly end: string;
  readonly actions: readonly SampleAction[];
}

export type TrainEvent =
  | {
      readonly type: "run-started";
      readonly run: string;
      readonly recipe: string;
      readonly engine: string;
      readonly policies: readonly PolicySummary[];
      /** Steps of each stage. */
      readonly steps: Readonly<Record<Stage, number>>;
    }
  /** Warnings about the recipe before training; repeated when a run resumes. */
  | ({ readonly type: "warning" } & Warning)
  /** A limit of the recipe's `watch` was crossed. */
  | { readonly type: "watch"; readonly record: WatchRecord }
  /** Judging waits for a service, and goes on later. */
  | { readonly type: "judge-paused"; readonly notice: string }
  /** A server of the engine has not answered for these seconds; it is tried again. */
  | {
      readonly type: "server-silent";
      readonly server: string;
      readonly seconds: number;
      readonly why: string;
    }
  /** It answers again, after so many seconds. */
  | { readonly type: "server-answers"; readonly server: string; readonly seconds: number }
  /** The run resumes after this step, counted over both stages. */
  | { readonly type: "resumed"; readonly step: number; readonly stage: Stage; readonly stageStep: number }
  /**
   * Steps up to this one were computed differently: from here on bits may differ from those of an uninterrupted run.
   */
  | {
      readonly type: "engine-changed";
      readonly step: number;
      /** What determines the bits, by name, where it differs. */
      readonly changes: readonly { readonly name: string; readonly before: string; readonly now: string }[];
    }
  | { readonly type: "stage-started"; readonly stage: Stage; readonly steps: number; readonly done: number }
  /** The current activity, for a live panel. */
  | { readonly type: "phase"; readonly phase: "sampling" | "training" | "saving" }
  | { readonly type: "step"; readonly metrics: StepMetrics; readonly timing: Timing }
  | {
      readonly type: "evaluation-started";
      readonly team: string;
      readonly moment: Evaluation["moment"];
      readonly tasks: number;
    }
  | {
      readonly type: "evaluation-progress";
      readonly team: string;
      readonly done: number;
      readonly tasks: number;
    }
  | { readonly type: "evaluation"; readonly evaluation: Evaluation; readonly timing: Timing }
  | { readonly type: "sample-episodes"; readonly step: number; readonly episodes: readonly SampleEpisode[] }
  /** The same task after different steps, if `TrainOptions.preview` asks for it. */
  | { readonly type: "preview"; readonly step: number; readonly episodes: readonly SampleEpisode[] }
  | { readonly type: "checkpoint"; readonly step: number; readonly directory: string }
  | { readonly type: "finished"; readonly result: RunResult; readonly alreadyDone: boolean }
  | {
      readonly type: "interrupted";
      readonly step: number;
      /** The step after which the same command resumes; null: it starts over. */
      readonly checkpoint: number | null;
      /** Why the step in progress could not be finished, or saved. Absent: it was. */
      readonly because?: string;
    };

export type Listener = (event: TrainEvent) => void;

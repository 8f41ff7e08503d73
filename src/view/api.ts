/**
 * What the viewer's page asks its server, and what it gets, as JSON. Both sides import these types, so this file imports
 * nothing. Text from models is data: it may hold anything, and is shown as text only.
 *
 *   GET  /api/runs                               RunLine[]
 *   GET  /api/runs/RUN                           RunPage
 *   GET  /api/runs/RUN/curves?of=a,b             Curves; without `of`, of all columns
 *   GET  /api/compare?runs=a,b                   RecipeDifference[]
 *   GET  /api/runs/RUN/episodes?FILTER&cursor=   EpisodeList; FILTER has a Filter's fields; limit=1 to 200, default 50
 *   GET  /api/runs/RUN/episode?id=train/12/3     EpisodeView; with FILTER, its neighbours are those of that list
 *   GET  /api/runs/RUN/action?episode=&action=   ActionView
 *   GET  /api/runs/RUN/file?hash=                bytes; to be saved, unless they are a picture or plain text
 *   GET  /api/changes                            server-sent events, each a Change
 *   POST /api/runs/RUN/continue                  ContinueRequest as JSON; ContinueEvents as JSON lines, while it runs
 *
 * Anything else, and what fails, is a Problem with a status of 400 or more. An exported file holds an Export instead.
 */

export interface Problem {
  /** What, where, what was expected, what to do. */
  readonly error: string;
}

export interface RunLine {
  /** Its name in the viewer's addresses: that of its folder, with a number if several have it. */
  readonly run: string;
  readonly folder: string;
  readonly recipe: string;
  readonly environment: string;
  readonly algorithm: string;
  /** A hash of what is trained, without the seed: runs that share it differ in their seed alone. */
  readonly training: string;
  /** Null, as for `steps`: the recipe cannot be read. */
  readonly seed: number | null;
  /** Steps done, and all that the recipe asks for, over both stages. */
  readonly step: number;
  readonly steps: number | null;
  readonly state: "training" | "stopped" | "ended" | "damaged";
  /** What is damaged, and what to do. Absent: nothing. */
  readonly problem?: string;
  /** The team's share of successes in its last evaluation, with its 95 % interval. Null: not evaluated. */
  readonly success: Interval | null;
  /** The last time that `watch` stopped the run, or returned to a checkpoint. Absent: it never did. */
  readonly watch?: Watched;
}

export interface Watched {
  readonly action: "stop" | "return";
  /** After which it acted. */
  readonly step: number;
  /** What it did, and why, for people. */
  readonly text: string;
}

export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export interface RunPage extends RunLine {
  /** Of the trained team, in the order in which they act. */
  readonly roles: readonly string[];
  readonly hasJudge: boolean;
  /** Names of the teams that were evaluated. */
  readonly teams: readonly string[];
  /** The resolved recipe, in YAML. */
  readonly recipeText: string;
  /** Names of the curves. */
  readonly columns: readonly string[];
  /** Steps after which there is a checkpoint, which a state can be continued with. */
  readonly checkpoints: readonly number[];
  readonly index: IndexState;
}

/** How much of a run can be searched and filtered. */
export interface IndexState {
  /** Stored episodes, and those of them that are indexed, with their actions. */
  readonly episodes: number;
  readonly indexed: number;
  readonly actions: number;
  /** Why indexing stopped. Absent: it did not. */
  readonly problem?: string;
}

export interface Curves {
  /** Of the run: both stages count. */
  readonly steps: readonly number[];
  readonly stages: readonly ("warm-start" | "reinforcement")[];
  /** By the path of a figure in metrics.jsonl, `rollout.roles.planner.team`; null: the step has no such figure. */
  readonly columns: Readonly<Record<string, readonly (number | null)[]>>;
  readonly timed: Readonly<Record<TimedFigure, readonly (number | null)[]>>;
  readonly evaluations: readonly EvaluationPoint[];
}

/**
 * From timings.jsonl; null: not recorded. Wall-clock seconds of each step, tokens sampled per second of sampling; and up to
 * the end of each step and of the evaluation after it, hours and what a coach has used.
 */
export type TimedFigure = "seconds" | "tokensPerSecond" | "hours" | "coachTokens" | "coachDollars";

export interface EvaluationPoint {
  readonly team: string;
  readonly moment: "before" | "during" | "after";
  /** The last step done. */
  readonly step: number;
  readonly success: number;
  readonly low: number;
  readonly high: number;
  readonly tasks: number;
}

/** A key of the recipes in which the runs differ; values as JSON, null: absent. */
export interface RecipeDifference {
  readonly key: string;
  readonly values: readonly (string | null)[];
}

/** All conditions hold. Those about actions hold for one and the same action, except `blamed`. */
export interface Filter {
  /** In the prompts and replies; upper or lower case does not matter. */
  readonly text?: string;
  readonly from?: "train" | "evaluation";
  /** Of evaluations. */
  readonly team?: string;
  /** From the first to the last, including both. */
  readonly step?: readonly [number, number];
  /** Who acts. */
  readonly role?: string;
  /** Some trajectory ended without success; false: all ended with it. */
  readonly failed?: boolean;
  /** A verdict blames this role. */
  readonly blamed?: string;
  /** The action reached the limit of tokens. */
  readonly truncated?: boolean;
  /** The action's team reward and local reward together are between these two, or equal to one of them. */
  readonly reward?: readonly [number, number];
  /** The verdicts on the way to an end are on average at least 0.5 although it failed, or less although it succeeded. */
  readonly disagree?: boolean;
  /** The action trains nothing although its role does: see `droppedWhy`. */
  readonly dropped?: boolean;
}

export interface EpisodeLine {
  readonly id: string;
  /** Of the run, as everywhere: ids of training count those of reinforcement. Of an evaluation: the last step done. */
  readonly step: number;
  /** Null: sampled for training. */
  readonly team: string | null;
  /** Share of its trajectories that end in success, and the mean of their scores. */
  readonly success: number;
  readonly score: number;
  /** Null, as for `actions`: not indexed yet. */
  readonly turns: number | null;
  readonly actions: number | null;
  /** Where the text was found first. */
  readonly found?: Found;
}

export interface Found {
  /** The action's id. */
  readonly action: string;
  readonly where: "prompt" | "reply";
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

/** The newest first. */
export interface EpisodeList {
  /** Matching episodes known so far. */
  readonly total: number;
  /** False: the search still runs, or not all episodes are indexed; ask again. */
  readonly isExact: boolean;
  /** Share of the run that was searched, from 0 to 1. */
  readonly searched: number;
  readonly episodes: readonly EpisodeLine[];
  /** Gives the next episodes. Null: there are none. */
  readonly cursor: string | null;
}

export interface EpisodeView {
  readonly id: string;
  readonly run: string;
  readonly step: number;
  readonly team: string | null;
  readonly split: string | null;
  /** Share of its trajectories that end in success, and the mean of their scores; of the first one if `branched`. */
  readonly success: number;
  readonly score: number;
  /** Its other trajectories only say what the actions of the first one are worth. Absent: all are play of the team. */
  readonly branched?: true;
  /** As in the record, and as the environment renders it to people. */
  readonly task: unknown;
  readonly taskText: string;
  /** In the order in which they act. */
  readonly roles: readonly string[];
  /** The root first, each after its parent. */
  readonly nodes: readonly NodeView[];
  /** By id. */
  readonly actions: Readonly<Record<string, ActionLine>>;
  readonly ends: readonly EndView[];
  /** The newer and the older neighbour in the list. Null: none. */
  readonly newer: string | null;
  readonly older: string | null;
  /**
   * False: the neighbours are those known so far, as the search still runs, or not all episodes are indexed; ask again.
   * Absent: the episode is not stored, and in no list.
   */
  readonly isExact?: boolean;
}

/** A state, and the joint action that led to it. */
export interface NodeView {
  /** "3.0.7": child 3, its child 0, its child 7. The root is "". */
  readonly id: string;
  readonly parent: string | null;
  /** Of those who act next. */
  readonly turn: number;
  readonly phase: number;
  /** The episode continued or ended here. */
  readonly kept: boolean;
  readonly done: boolean;
  readonly score?: number;
  /** The state as text. */
  readonly rendered: string;
  /** The state as an SVG drawing, made by Troupe. Absent: the environment draws none. */
  readonly drawing?: string;
  /** What each seat saw of the state. */
  readonly observations: Readonly<Record<string, string>>;
  /** Of the joint action; empty at the root. */
  readonly actions: readonly EdgeView[];
  /** A command with which a person plays on from here, in the terminal. Absent: nobody can. */
  readonly play?: string;
}

/** An action in a joint action, with what it earned there. */
export interface EdgeView {
  readonly action: string;
  /** Null, as for `local`: no reward. */
  readonly team: number | null;
  readonly local: number | null;
  /** The judge's score, in [0, 1]. Null: none. */
  readonly judge: number | null;
  readonly parts: Readonly<Record<string, number>>;
  readonly reason?: string;
  readonly verdict?: VerdictView;
  /** The environment's reward, if the verdict replaced it. */
  readonly environmentReward?: { readonly team: number; readonly local: number };
  readonly evidence?: EvidenceView;
}

/** A judge's verdict, or why there is none. */
export type VerdictView =
  | {
      readonly score: number;
      readonly explanation?: string;
      /** The role that caused what is wrong; null: none. Absent: the judge names none. */
      readonly blame?: string | null;
    }
  | { readonly failure: string };

export interface EvidenceView {
  /** What programs and tools printed. */
  readonly output?: string;
  readonly files?: readonly {
    readonly path: string;
    /** In bytes. */
    readonly size: number;
    /** For `file?hash=`. Absent: the content was not kept. */
    readonly digest?: string;
    readonly note?: string;
  }[];
}

export interface ActionLine {
  readonly id: string;
  /** The node from whose state it was sampled. */
  readonly parent: string;
  readonly seat: string;
  readonly role: string;
  readonly policy: string;
  readonly policyVersion: number | null;
  readonly turn: number;
  readonly phase: number;
  readonly sample: number;
  readonly frozen: boolean;
  /** Why its prompt does not continue the conversation before. */
  readonly branch?: string;
  readonly stopReason: "stop" | "length";
  readonly promptTokens: number;
  readonly tokens: number;
  readonly reply: ReplyView;
  /** Sum of the tokens' log-probabilities, in nats. */
  readonly logprob: number | null;
  /** Null, as for the others: the action was not trained on. */
  readonly advantage: number | null;
  readonly return: number | null;
  readonly group: string | null;
  /** Why it trained nothing in a step that trained its role. Absent: it did train, or could not. */
  readonly droppedWhy?: string;
}

export interface ReplyView {
  readonly text: string;
  readonly thinking?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: unknown; readonly error?: string }[];
  readonly truncated: boolean;
}

/** An action with its prompt and its tokens. */
export interface ActionView extends ActionLine {
  /** The prompt as text, without control tokens. */
  readonly prompt: string;
  /** The prompt exactly as the model got it. Absent: the tokenizer is not there. */
  readonly exactPrompt?: string;
  /** Sampled, in order. Absent text: the tokenizer is not there. */
  readonly tokenViews: readonly TokenView[];
  /** Why something above is missing. */
  readonly problem?: string;
}

export interface TokenView {
  readonly id: number;
  /** Its exact text. Bytes of a character that several tokens share are written as ‹E2 82›, with `isPart`. */
  readonly text?: string;
  readonly isPart?: true;
  /** A control token, such as the one that ends the turn. */
  readonly isControl?: true;
  /** In nats, at temperature 1; null: not finite. */
  readonly logprob: number | null;
  /** Of the distribution that it was drawn from, in nats. Absent: the engine did not measure it. */
  readonly entropy?: number;
  /** Of its own, if the action's tokens have different ones. */
  readonly advantage?: number;
}

export interface EndView {
  readonly node: string;
  readonly success: boolean;
  readonly score: number;
  /** Turns started. */
  readonly turns: number;
  /** What went wrong in a program that drives itself. */
  readonly problem?: string;
}

export interface ContinueRequest {
  readonly episode: string;
  /** The state to continue from. */
  readonly node: string;
  /** How often; 1 to 64. */
  readonly samples: number;
  /** Take the most probable token each time, which one sample is enough for. */
  readonly greedy?: boolean;
  /** A step with a checkpoint. Absent: the newest. */
  readonly step?: number;
}

export type ContinueEvent =
  | { readonly type: "loading" }
  /** The weights of the checkpoint after this step play; null: the untrained ones. Temperature 0: greedily. */
  | { readonly type: "playing"; readonly step: number | null; readonly temperature: number }
  /** One continuation: the path to the node, and what followed. */
  | { readonly type: "episode"; readonly sample: number; readonly episode: EpisodeView }
  | {
      readonly type: "done";
      readonly ends: number;
      readonly successes: number;
      /** Of their share, at 95 %. Absent: they were not sampled. */
      readonly interval?: { readonly low: number; readonly high: number };
      readonly score: number;
    }
  | { readonly type: "problem"; readonly error: string };

/**
 * A run trained on, was indexed further, or was cut. One is sent whenever something in it differs from the last; whoever
 * hears of it asks again.
 */
export interface Change {
  readonly run: string;
  readonly step: number;
  readonly state: RunLine["state"];
  readonly index: IndexState;
}

/** In a file written by `troupe view --export`, as JSON in the element with the id `troupe-export`. */
export interface Export {
  readonly runs: readonly RunLine[];
  /** By the run's name, as for the others. */
  readonly pages: Readonly<Record<string, RunPage>>;
  readonly curves: Readonly<Record<string, Curves>>;
  readonly differences: readonly RecipeDifference[];
  readonly lists: Readonly<Record<string, EpisodeList>>;
  /** By the run's name, then the episode's id. */
  readonly episodes: Readonly<Record<string, Readonly<Record<string, EpisodeView>>>>;
  /** By the run's name, the episode's id, then the action's id. */
  readonly actions: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, ActionView>>>>>>;
  /** What was left out, in sentences. */
  readonly leftOut: readonly string[];
}

/** What programs that use Troupe, and modules of recipes, import. The command line uses the same parts. */
export * from "./library/library.ts";
export { train } from "./library/train.ts";
export { evaluate, type EvaluateOptions, type RunEvaluation } from "./library/evaluate.ts";
export { retryingEngine } from "./engines/retrying.ts";
export { listRuns } from "./runs/read.ts";
export { loadTokenizer } from "./text/tokenizer.ts";
export { algorithmFrom } from "./credit/algorithms.ts";
export { openRecordedCalls } from "./runs/recorded-calls.ts";
export { conformanceChecks } from "./environments/conformance.ts";
export { algorithmChecks } from "./credit/checks/checks.ts";
export { engineChecks } from "./engines/conformance.ts";
export { gameDefinition, gameEnvironment } from "./environments/game.ts";
export { withPrograms } from "./environments/programs/environment.ts";
export { taskList } from "./environments/tasks.ts";
export { sourceWarnings, taskSources } from "./data/task-sources.ts";
export { childrenOf, edgesOf, nodeOf, occurrencesOf, parentOf, pathTo, rootOf } from "./rollout/navigate.ts";
export { decodeEpisode, encodeEpisode } from "./rollout/codec.ts";
export { withoutVerdicts } from "./judges/judge-episode.ts";
export { replayEpisode } from "./train/replay.ts";
export { childKey, drawFloat, drawInt, generatorOf, keyAt, rootKey, shuffled } from "./random.ts";
export { z } from "zod";
export { ServiceError, TroupeError } from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export type * from "./engines/engine.ts";
export type { DatasetOption } from "./data/dataset.ts";
export type { OpenOptions } from "./data/open.ts";
export type { CallCase, CodeLimits, CodeProblem, CodeTests, StdinCase } from "./data/problem.ts";
export type { ProblemSource, SourceWarning, TaskSourcesOptions } from "./data/task-sources.ts";
export type { AdapterOptions } from "./models/adapter-options.ts";
export type * from "./environments/environment.ts";
export type { Actions, Game, GameDefinition, GameStep } from "./environments/game.ts";
export type { ProgramState } from "./environments/programs/environment.ts";
export type { ProgramLimits } from "./environments/programs/options.ts";
export { programOptions } from "./environments/programs/options.ts";
export type { ProgramSeat } from "./environments/programs/seat.ts";
export type { GameSplit } from "./environments/tasks.ts";
export type { Pending, RoleTools } from "./environments/tool-use.ts";
export type { ConformanceCheck, ConformanceOptions } from "./environments/conformance.ts";
export type { Generator, Key } from "./random.ts";
export type * from "./rollout/episode.ts";
export type { EncodedEpisode } from "./rollout/codec.ts";
export type { Occurrence } from "./rollout/navigate.ts";
export type { EpisodeStart } from "./rollout/record.ts";
export type { FailedEpisode, Grown } from "./rollout/grow.ts";
export type { JudgeMoment, RolloutPolicy, RolloutSetting } from "./rollout/setting.ts";
export { rolloutDefaults } from "./rollout/setting.ts";
export type { ActionCredit, EpisodeSelection, StoredEpisode } from "./rollout/stored.ts";
export type { RunSummary } from "./runs/read.ts";
export type { Evaluation, RunResult, StepMetrics, Timing } from "./runs/records.ts";
export type { Team, Role, RoleName } from "./teams/team.ts";
export type { RoleInput, TeamInput } from "./teams/build.ts";
export type { Tokenizer } from "./text/tokenizer.ts";
export type {
  Aggregation,
  Algorithm,
  Baseline,
  CreditContext,
  CreditedAction,
  CriticTerm,
  Grouping,
  ComparedAction,
  KlTerm,
  Objective,
  Overlong,
  PlacedAction,
  Return,
  Rewards,
  Scale,
  Score,
  Selection,
  Shaping,
  Signals,
  TokenAdvantages,
  TokenCredit,
  Whitening,
} from "./credit/algorithm.ts";
export { missing } from "./credit/algorithm.ts";
export type { AlgorithmCheck } from "./credit/checks/checks.ts";
export { algorithms } from "./credit/algorithms.ts";
export * as columns from "./credit/columns.ts";
export { plain } from "./credit/rows/options.ts";
export { row } from "./credit/algorithm.ts";
export type { AlgorithmRow, Columns } from "./credit/algorithm.ts";
export type {
  ConfiguredJudge,
  GivenVerdict,
  Judge,
  JudgeContext,
  JudgeDefinition,
  JudgeUse,
  Normalisation,
  OptionProblem,
} from "./judges/judge.ts";
export { judges } from "./judges/judges.ts";
export type { Recordable, RecordedCall, RecordedCalls, RecordedFailure } from "./calls/recorded.ts";
export type { Service, ServiceLog, ServiceOptions, ServiceUse } from "./calls/services.ts";
export { unrecordedCalls } from "./calls/recorded.ts";
export type { Ending, Limits, Program, ProgramResult, RunningProgram, Sandbox } from "./sandbox/sandbox.ts";
export type { Proof, SandboxOptions } from "./sandbox/open.ts";
export { builtInCatalog } from "./recipes/catalog.ts";
export type { Catalog } from "./recipes/catalog.ts";
export type { EngineCheck, EngineConformanceOptions } from "./engines/conformance.ts";
export { engineKinds, openEngine } from "./engines/open.ts";
export type {
  ConfiguredEngine,
  EngineKind,
  EngineServers,
  EngineOpenOptions,
  RemoteWeights,
  ServerWeights,
  SettingWarning,
} from "./engines/kind.ts";
export { VerbOrder } from "./engines/verb-order.ts";
export type { RunningChange } from "./engines/verb-order.ts";
export type { RetryOptions } from "./calls/retry.ts";
export { RecipeError } from "./recipes/mistakes.ts";
export type { Mistake } from "./recipes/mistakes.ts";
export type { ResolvedRecipe } from "./recipes/resolve.ts";
export type { Recipe } from "./recipes/schema.ts";
export type { Difference, ReplaySetting } from "./train/replay.ts";
export type { Rescoring, RescoringJudge } from "./train/replay.ts";
export type {
  Listener,
  PolicySummary,
  SampleAction,
  SampleEpisode,
  Stage,
  TrainEvent,
} from "./train/events.ts";
export type { TrainOptions } from "./train/state.ts";
export type { TrainOutcome } from "./train/run.ts";
export type { Scores } from "./train/scores.ts";
export type { Warning } from "./recipes/validation/warnings.ts";
export type { Path } from "./recipes/tree.ts";
export type { FileStore } from "./files/store.ts";
export type { Budget, JudgeEstimate, PlannedQuestions } from "./judges/judge.ts";
export type { JointReward } from "./credit/returns.ts";
export type { Origin } from "./recipes/tree.ts";
export type { JsonObject } from "./text/files.ts";
export type { ToolService } from "./tools/tool.ts";

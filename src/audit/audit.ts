/**
 * Is the credit right? Decisions of a training step are continued many times with the weights that made them, which gives
 * the true value of each candidate; then everything that claims to know it is compared: recorded and recomputed
 * advantages, the judge, the reward.
 *
 * The true value of an action is the mean final score of the episode (`outcome.score`) when the role takes this action
 * in the recorded state and everything else is sampled from the policies as in training: the roles that act at the same
 * time, everyone later, and the environment's chance. Nothing is chosen on the way and no episode ends early, whatever
 * the run's sampling scheme.
 */
import { TroupeError } from "../errors.ts";
import { childKey, keyAt, rootKey, type Key } from "../random.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import { readEpisodes, type StoredEpisode } from "../rollout/stored.ts";
import { clusteredInterval, mean, meanInterval, sum, type Interval } from "../statistics.ts";
import { boundFailures } from "../train/failures.ts";
import { checkContinuable, playingSetting } from "../train/playing.ts";
import type { SavedRun } from "../train/weights.ts";
import { agreementOf, differencesOf, type Graded } from "./agreement.ts";
import { creditsOf, type Credit } from "./credits.ts";
import { decisionsIn, differentCandidates, sampleDecisions, type Decision } from "./decisions.ts";
import type { AuditedRun, CreditRecord } from "./records.ts";
import { valuesOf, type ValuedDecision } from "./values.ts";

export interface AuditSetting extends Pick<RolloutSetting, "team" | "engine" | "policies" | "services"> {
  readonly run: SavedRun;
  /** The run's recipe; its judge is not asked and may be missing. */
  readonly resolved: Pick<ResolvedRecipe, "recipe" | "environment" | "algorithm">;
  /** The version of the role's loaded weights; undefined: it has none. */
  readonly versionOf: (role: string) => number | undefined;
  /** Of the recorded training step, over both stages. */
  readonly step: number;
  /** Most decisions. */
  readonly decisions: number;
  /** Of each candidate; at least 2. */
  readonly continuations: number;
  /** Most continuations of all candidates together: fewer decisions are audited. Absent: any number. */
  readonly episodes?: number | undefined;
  readonly seed: number;
  /** Before the first continuation. */
  readonly onStart?: (plan: AuditPlan) => void;
  /** Continuations that were played, of all. */
  readonly onProgress?: (done: number, of: number) => void;
}

/** What an audit will play. */
export interface AuditPlan {
  readonly decisions: number;
  /** Those that differ, of all decisions. */
  readonly candidates: number;
  /** Of each. */
  readonly continuations: number;
}

/**
 * @throws TroupeError `bad_arguments` if the step has no decision with candidates to compare, `unsupported` if its episodes
 * cannot be continued from their states, `bad_run` if roles are now shown something else, `service` if more
 * continuations failed than the recipe's `failures.limit`
 */
export async function auditRun(setting: AuditSetting): Promise<AuditedRun> {
  const { run, resolved, continuations, seed } = setting;
  checkContinuable(resolved.environment, run.recipe, `${run.name} cannot be audited`);
  const stored: StoredEpisode[] = [];
  for await (const one of readEpisodes(run.directory, { from: "training", step: setting.step }))
    stored.push(one);
  const { decisions, same } = decisionsIn(stored.map(({ episode }) => episode));
  if (decisions.length === 0) throw nothingToCompare(setting, stored.length, same);
  const key = keyAt(rootKey(seed), "audit");
  const chosen = chosenOf(setting, decisions, childKey(key, "decisions"));
  const different = sum(chosen.map((decision) => differentCandidates(decision).length));
  setting.onStart?.({ decisions: chosen.length, candidates: different, continuations });
  const valued = await valuesOf(
    rolloutOf(setting),
    chosen,
    continuations,
    childKey(key, "continuations"),
    (done) => setting.onProgress?.(done, different * continuations),
  );
  const { played, failed, unpaired } = valued;
  const problem = failed[0]?.cause.message;
  const describe = (allowed: string) =>
    `${failed.length} of ${played} continuations failed, ${allowed}. The first: ${problem ?? ""}`;
  boundFailures(failed.length, played, resolved.recipe.failures.limit, describe, failed[0]?.cause);
  const judge = judgeOf(run);
  const { credits, omitted } = await creditsOf(stored, resolved.algorithm, judge?.name);
  const candidates = valued.decisions.flatMap((decision) => decision.candidates);
  return {
    run: run.name,
    environment: resolved.environment.name,
    algorithm: resolved.algorithm.name,
    ...(judge === undefined ? {} : { judge: judge.name }),
    step: setting.step,
    checkpoint: run.checkpoint?.state.step ?? 0,
    sameWeights: candidates.filter(({ role, policyVersion }) => policyVersion === setting.versionOf(role))
      .length,
    candidates: candidates.length,
    seed,
    continuations,
    temperature: resolved.recipe.train.temperature,
    decisions: {
      found: decisions.length + same,
      same,
      audited: valued.decisions.length,
      lost: chosen.length - valued.decisions.length,
    },
    played,
    failed: failed.length,
    unpaired,
    ...(problem === undefined ? {} : { problem }),
    credits: creditRecords(valued.decisions, credits),
    omitted: [...omitted],
    audited: valued.decisions.map((decision) => auditedDecision(decision, credits)),
  };
}

function creditRecords(decisions: readonly ValuedDecision[], credits: readonly Credit[]): CreditRecord[] {
  return [
    ...references(decisions).map(({ name, graded }): CreditRecord => {
      return { name, kind: "continuations", slices: slicesOf(decisions, graded, "own") };
    }),
    ...credits.flatMap((credit): CreditRecord[] => {
      const zero = credit.kind === "advantage" ? "own" : "group";
      const slices = slicesOf(decisions, (decision) => gradedBy(decision, credit), zero);
      // Nothing to say of a judge that was asked of nothing.
      return slices[0]?.agreement.groups === 0 ? [] : [{ name: credit.name, kind: credit.kind, slices }];
    }),
  ];
}

/** @throws TroupeError `bad_arguments` if not one is within the limit */
function chosenOf(
  { decisions: most, continuations, episodes = Infinity }: AuditSetting,
  decisions: readonly Decision[],
  key: Key,
): readonly Decision[] {
  const chosen = sampleDecisions(decisions, most, key, episodes / continuations);
  if (chosen.length > 0) return chosen;
  const [first] = sampleDecisions(decisions, 1, key);
  const needed = (first === undefined ? 0 : differentCandidates(first).length) * continuations;
  throw new TroupeError(
    "bad_arguments",
    `One decision takes ${needed} continuations, and at most ${episodes} are allowed: allow more, or fewer of each candidate.`,
  );
}

function judgeOf({ recipe: { judge } }: SavedRun): { readonly name: string } | undefined {
  return judge === undefined ? undefined : { name: judge.name ?? "judge" };
}

function nothingToCompare({ run, step }: AuditSetting, episodes: number, same: number): TroupeError {
  const why =
    same > 0
      ? `all ${same} decisions have candidates with the same tokens`
      : "no role sampled several actions from one state";
  return new TroupeError(
    "bad_arguments",
    `In the ${episodes} recorded episodes of step ${step} of ${run.name}, ${why}. Audit another step, or a run whose algorithm ` +
      "samples several actions in each state, such as `at-grpo` or `magrpo`.",
  );
}

/** As in training, but one trajectory, as in an evaluation. */
function rolloutOf(setting: AuditSetting): RolloutSetting {
  const { recipe, algorithm } = setting.resolved;
  const { temperature, topK, topP } = recipe.train;
  return {
    ...playingSetting(setting.resolved, setting),
    services: setting.services,
    score: algorithm.score,
    sampling: { temperature, topK, topP },
  };
}

type Grade = (decision: ValuedDecision) => Graded;

function gradedBy({ episode, candidates, scores }: ValuedDecision, credit: Credit): Graded {
  const known = candidates.flatMap((action, index) => {
    const given = credit.of(episode, action);
    return given === null ? [] : [{ given, scores: scores[index] ?? [] }];
  });
  return {
    cluster: episode.id,
    credits: known.map(({ given }) => given),
    scores: known.map((one) => one.scores),
  };
}

/** Some continuations as the credit, compared with the others, which are independent of them. */
function references(
  decisions: readonly ValuedDecision[],
): readonly { readonly name: string; readonly graded: Grade }[] {
  const fewest = Math.min(...decisions.map(({ scores }) => scores[0]?.length ?? 0));
  const half = Math.floor(fewest / 2);
  return [
    ...(half > 1 ? [{ name: "half of the continuations", graded: gradedByFirst(half) }] : []),
    ...(fewest > 2 ? [{ name: "one continuation", graded: gradedByFirst(1) }] : []),
  ];
}

/** Their mean, minus the siblings', as an advantage. */
function gradedByFirst(count: number): Grade {
  return ({ episode, scores }) => {
    const means = scores.map((own) => mean(own.slice(0, count)));
    const centre = mean(means);
    return {
      cluster: episode.id,
      credits: means.map((one) => one - centre),
      scores: scores.map((own) => own.slice(count)),
    };
  };
}

function slicesOf(
  decisions: readonly ValuedDecision[],
  grade: Grade,
  zero: "own" | "group",
): CreditRecord["slices"] {
  const roles = [...new Set(decisions.map(({ role }) => role))];
  const turns = [...new Set(decisions.map(({ turn }) => turn))].toSorted((one, other) => one - other);
  const kinds: readonly { readonly role?: string; readonly turn?: number }[] = [
    {},
    ...(roles.length > 1 ? roles.map((role) => ({ role })) : []),
    ...(turns.length > 1 ? turns.map((turn) => ({ turn })) : []),
    ...(roles.length > 1 && turns.length > 1
      ? roles.flatMap((role) => turns.map((turn) => ({ role, turn })))
      : []),
  ];
  return kinds.map((kind) => {
    const own = decisions.filter(
      ({ role, turn }) => (kind.role ?? role) === role && (kind.turn ?? turn) === turn,
    );
    const { bins, ...rest } = agreementOf(own.map(grade), zero);
    return { ...kind, agreement: { ...rest, bins: [...bins] } };
  });
}

function auditedDecision(
  decision: ValuedDecision,
  credits: readonly Credit[],
): AuditedRun["audited"][number] {
  const { episode, node, role, turn, candidates, scores } = decision;
  const differences = differencesOf(scores);
  return {
    episode: episode.id,
    node: node.id,
    role,
    turn,
    candidates: candidates.map((action, index) => ({
      action: action.id,
      value: mean(scores[index] ?? []),
      interval: valueInterval(scores[index] ?? []),
      difference: differences[index]?.value ?? 0,
      error: Math.sqrt(differences[index]?.error ?? 0),
      credits: Object.fromEntries(credits.map(({ name, of }) => [name, of(episode, action)])),
    })),
  };
}

/** Of shares it has a width also if all are equal. @param scores at least two */
function valueInterval(scores: readonly number[]): Interval {
  const areShares = scores.every((score) => score >= 0 && score <= 1);
  const value = mean(scores);
  return areShares
    ? clusteredInterval(scores, scores.length)
    : (meanInterval(scores) ?? { low: value, high: value });
}

/**
 * The recorded step to audit and the checkpoint to continue it with: the newest step that follows a checkpoint, whose
 * weights sampled it. If there is none, the nearest two.
 * @param recorded steps with stored training episodes
 * @param saved steps with a checkpoint
 */
export function chooseStep(
  recorded: readonly number[],
  saved: readonly number[],
): { readonly step: number; readonly checkpoint: number } | null {
  const pairs = recorded.flatMap((step) => saved.map((checkpoint) => ({ step, checkpoint })));
  const distance = ({ step, checkpoint }: (typeof pairs)[number]) => Math.abs(checkpoint - (step - 1));
  const [nearest = null] = pairs.toSorted(
    (one, other) => distance(one) - distance(other) || other.step - one.step,
  );
  return nearest;
}

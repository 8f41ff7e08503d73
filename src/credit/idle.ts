/**
 * Options that would do nothing in the recipe they stand in: nobody should wait for what they promise. An option at its
 * default is never refused: a resolved recipe names them all.
 */
import type { Algorithm } from "./algorithm.ts";
import type { AlgorithmMistake, TeamShape } from "./mistakes.ts";
import type { AlgorithmRow } from "./rows/row.ts";

/** What decides whether an option does anything, besides its value. */
export interface OptionSetting {
  readonly algorithm: Algorithm;
  /** Of the algorithm, defaults filled in. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly team: Pick<TeamShape, "phases" | "turns">;
  /** Of the recipe's train section. */
  readonly train: {
    readonly minibatches: number;
    readonly epochs: number;
    readonly tokensPerStep?: number | undefined;
  };
}

/** Why the option does nothing here, and the nearest thing that works. undefined: it does something. */
type Idle = (setting: OptionSetting) => Reason | undefined;
type Reason = Pick<AlgorithmMistake, "problem" | "fix">;

/** Every option of the row whose value is not the default and has no effect. */
export function idleOptions(row: AlgorithmRow, setting: OptionSetting): readonly AlgorithmMistake[] {
  const defaults = row.options.safeParse({}).data ?? {};
  return Object.entries(idle).flatMap(([option, isIdle]) => {
    const isWritten = setting.options[option] !== defaults[option];
    const reason = isWritten ? isIdle(setting) : undefined;
    return reason === undefined ? [] : [{ path: ["algorithm", option], ...reason }];
  });
}

const when = (applies: boolean, problem: string, fix: string): Reason | undefined =>
  applies ? { problem, fix } : undefined;

/** The old policy's ratio is 1 until the first update; none of the clips reaches its bound there. */
const clip: Idle = ({ train }) =>
  when(
    train.minibatches * train.epochs === 1,
    "it holds the policy near the one that sampled, and a step makes one update, in which both are the same",
    "set train.minibatches or train.epochs to 2 or more, or remove it",
  );

/** Nothing follows an episode's only phase. */
const afterOne = (what: string): Idle => {
  return ({ team: { phases, turns } }) =>
    when(
      phases.length * turns === 1,
      `${what}, and an episode here is one phase of one turn`,
      "remove it, or play more phases or turns",
    );
};

const overTurns = (what: string): Idle => {
  return ({ team: { turns } }) =>
    when(turns === 1, `${what}, and the team has one turn`, "remove it, or set team.turns to 2 or more");
};

/** By option; a name stands for the same thing in all rows. */
const idle: Readonly<Record<string, Idle>> = {
  refills: ({ options, train }) =>
    when(
      options["dynamicSampling"] !== true,
      "only dynamic sampling samples again",
      "add `dynamicSampling: true`, or remove it",
    ) ??
    when(
      train.tokensPerStep !== undefined,
      "train.tokensPerStep already says how long a step samples",
      "remove one of the two",
    ),
  shaping: afterOne("it compares with the actions before"),
  shapingWeight: ({ options }) =>
    when(
      options["shaping"] === "none",
      "it weighs the shaping between roles, and there is none",
      "add `shaping: margin` or `shaping: quality`, or remove it",
    ) ??
    when(
      options["shapingWeight"] === 0,
      "a shaping of weight 0 leaves every reward as it is",
      "give more than 0, or `shaping: none`",
    ),
  clipLow: clip,
  clipHigh: clip,
  dualClip: clip,
  valueClip: ({ options, train }) =>
    when(
      train.minibatches * Number(options["criticEpochs"]) === 1,
      "it holds the critic near its old values, and a step makes one update of the critic, which begins from them",
      "set algorithm.criticEpochs or train.minibatches to 2 or more, or remove it",
    ),
  critic: ({ team: { phases } }) =>
    when(
      phases.flat().length === 1,
      "the central critic sees the prompts of all roles that act at once, and the team has one role",
      "use `critic: role`",
    ),
  discount: (setting) =>
    setting.options["discount"] === 1 ? undefined : overTurns("it counts turns")(setting),
  lambda: (setting) => {
    const { critic } = setting.algorithm;
    if (critic?.at !== "prompt") return undefined;
    const what = "it reaches over the actions of an episode";
    return (critic.scope === "role" ? overTurns(what) : afterOne(what))(setting);
  },
  keep: afterOne("it is what the next phase is played from"),
  handOver: (setting) =>
    afterOne("it is what the next phase is played from")(setting) ??
    when(
      setting.options["samples"] === 1,
      "with one sample there is one joint action to go on from",
      "remove it, or set algorithm.samples to 2 or more",
    ),
  joint: ({ options }) =>
    when(
      options["samples"] === 1,
      "with one sample of each role there is one joint action, however they are paired",
      "remove it, or set algorithm.samples to 2 or more",
    ),
  terminationThreshold: (setting) => {
    const { alpha, terminationThreshold } = setting.options;
    const [threshold, most] = [Number(terminationThreshold), Number(alpha) + 1];
    return (
      overTurns("it ends an episode before its last turn")(setting) ??
      when(
        threshold < 0,
        "rewards are 0 or more, so that the first turn would always be the last",
        "use 0 or more, or set team.turns to 1",
      ) ??
      when(threshold >= most, `no α·team + local is above ${most}`, `use less than ${most}, or remove it`)
    );
  },
  earlyEndWeight: ({ options }) =>
    when(
      options["terminationThreshold"] === undefined,
      "only a `terminationThreshold` ends an episode early",
      "add one, or remove it",
    ),
};

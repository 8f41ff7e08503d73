/**
 * Rejects options of an algorithm that would have no effect in the recipe. An option at its default is never rejected:
 * a resolved recipe contains them all.
 */
import type { Algorithm, AlgorithmRow } from "../../../credit/algorithm.ts";
import { rewardOf, sumsLater, type RewardOptions } from "../../../credit/rows/trees.ts";
import { optionsOf } from "../../choice.ts";
import { jsonSchemaOf } from "../../shape.ts";
import type { Problem, Rule } from "../rule.ts";
import { teamShape, type TeamShape } from "./teams.ts";

/** What determines whether an option has an effect, besides its value. */
export interface OptionSetting {
  readonly algorithm: Algorithm;
  /** The algorithm's options, with defaults. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly team: TeamShape;
  /** From the recipe's train section. */
  readonly train: {
    readonly minibatches: number;
    readonly epochs: number;
    readonly tokensPerStep?: number | undefined;
  };
}

/** `row`: defines the options. */
interface RowSetting extends OptionSetting {
  readonly row: AlgorithmRow;
}

/** Why the option has no effect, and the nearest alternative that works. undefined: it has one. */
type Idle = (setting: RowSetting) => Reason | undefined;
type Reason = Required<Pick<Problem, "problem" | "fix">>;

export const idleOptions: Rule = ({ recipe, algorithm, environment, row }) => {
  if (row === undefined) return [];
  const options = optionsOf(recipe.algorithm);
  return optionProblems(row, {
    algorithm,
    options,
    team: teamShape(recipe.team, environment),
    train: recipe.train,
  });
};

/** Every option of the row whose value is not the default and has no effect. */
export function optionProblems(row: AlgorithmRow, setting: OptionSetting): readonly Problem[] {
  const defaults = row.options.safeParse({}).data ?? {};
  return Object.entries(idle).flatMap(([option, isIdle]) => {
    const isWritten = setting.options[option] !== defaults[option];
    const reason = isWritten ? isIdle({ ...setting, row }) : undefined;
    return reason === undefined ? [] : [{ path: ["algorithm", option], ...reason }];
  });
}

const when = (applies: boolean, problem: string, fix: string): Reason | undefined =>
  applies ? { problem, fix } : undefined;

/** The ratio to the old policy is 1 until the first update, so no clip applies. */
const clip: Idle = ({ train }) =>
  when(
    train.minibatches * train.epochs === 1,
    "it limits the distance from the sampling policy, which is 0 with one update per step",
    "set train.minibatches or train.epochs to 2 or more, or remove it",
  );

/** Nothing follows the only phase of an episode. */
const afterOne = (what: string): Idle => {
  return ({ team: { phases, turns, isGuessed } }) =>
    when(
      phases.length * turns === 1 && !isGuessed,
      `${what}, but an episode is one phase of one turn`,
      "remove it, or add phases or turns",
    );
};

const overTurns = (what: string): Idle => {
  return ({ team: { turns } }) =>
    when(turns === 1, `${what}, but the team has one turn`, "remove it, or set team.turns to 2 or more");
};

/** Returns that depend on action rewards. */
const ofSingleRewards = ["action", "turns", "rewards"];
/** Returns that sum over time. */
const ofSeveralTimes = ["turns", "progress", "rewards"];

const notPaid = "the episode's score does not depend on the rewards of single actions";

/** Has an effect only with some values of `reward`; rows without that option have one return. */
const underReward = (kinds: readonly string[], why: string): Idle => {
  return ({ options, row }) => {
    const { reward } = options;
    if (typeof reward !== "string" || kinds.includes(reward)) return undefined;
    const own = jsonSchemaOf(row.options).properties?.["reward"]?.enum?.map(String) ?? [];
    const fitting = kinds.filter((kind) => own.includes(kind)).map((kind) => `\`reward: ${kind}\``);
    return { problem: `with \`reward: ${reward}\` it has no effect: ${why}`, fix: use(fitting) };
  };
};

const use = (alternatives: readonly string[]): string => `use ${alternatives.join(" or ")}, or remove it`;

/** Rows that sum rewards through a tree, or compare joint actions when handing over. */
const isTree = ({ options }: OptionSetting): boolean => options["handOver"] !== undefined;

/** α affects action rewards: the return, the choice of `best`, the threshold. */
const alphaOfTree: Idle = ({ options }) => {
  const { handOver, terminationThreshold } = options;
  const paysActions = rewardOf(options as unknown as RewardOptions) === "action";
  const problem = `with \`reward: progress\` it has no effect: ${notPaid}`;
  const isUsed = paysActions || handOver === "best" || terminationThreshold !== undefined;
  return when(!isUsed, problem, use(["`reward: action`", "`handOver: best`", "a `terminationThreshold`"]));
};

/** By option; a name has the same meaning in all rows. */
const idle: Readonly<Record<string, Idle>> = {
  alpha: (setting) =>
    isTree(setting) ? alphaOfTree(setting) : underReward(ofSingleRewards, notPaid)(setting),
  outcomeWeight: underReward(ofSingleRewards, "it is added to the rewards of single actions"),
  refills: ({ options, train }) =>
    when(
      options["dynamicSampling"] !== true,
      "only dynamic sampling replaces tasks",
      "add `dynamicSampling: true`, or remove it",
    ) ??
    when(
      train.tokensPerStep !== undefined,
      "train.tokensPerStep already sets how much a step samples",
      "remove one of the two",
    ),
  shaping: (setting) =>
    underReward(ofSingleRewards, notPaid)(setting) ?? afterOne("it compares with earlier actions")(setting),
  shapingWeight: ({ options }) =>
    when(
      options["shaping"] === "none",
      "it weights the shaping between roles, but there is none",
      "add `shaping: margin` or `shaping: quality`, or remove it",
    ) ??
    when(
      options["shapingWeight"] === 0,
      "a shaping of weight 0 changes no reward",
      "give more than 0, or `shaping: none`",
    ),
  clipLow: clip,
  clipHigh: clip,
  dualClip: clip,
  valueClip: ({ options, train }) =>
    when(
      train.minibatches * Number(options["criticEpochs"]) === 1,
      "it limits the distance from the critic's old values, which is 0 with one update per step",
      "set algorithm.criticEpochs or train.minibatches to 2 or more, or remove it",
    ),
  critic: ({ team: { phases } }) =>
    when(
      phases.flat().length === 1,
      "the central critic sees the prompts of all simultaneous roles, but the team has one role",
      "use `critic: role`",
    ),
  discount: (setting) => (setting.options["discount"] === 1 ? undefined : undiscounted(setting)),
  lambda: (setting) => {
    const { critic } = setting.algorithm;
    if (critic?.at !== "prompt") return undefined;
    const what = "it spans the actions of an episode";
    return (critic.scope === "role" ? overTurns(what) : afterOne(what))(setting);
  },
  keep: afterOne("it selects where the next phase continues"),
  handOver: (setting) =>
    afterOne("it selects where the next phase continues")(setting) ??
    when(
      setting.options["samples"] === 1 && setting.options["handOver"] !== "each",
      "with one sample there is one joint action to continue from",
      "remove it, or set algorithm.samples to 2 or more",
    ),
  joint: ({ options }) =>
    when(
      options["handOver"] === "each",
      "with `handOver: each` a joint action is part of one trajectory, and its samples of no other",
      "remove it, or use another `handOver`",
    ) ??
    when(
      options["samples"] === 1,
      "with one sample per role there is only one joint action",
      "remove it, or set algorithm.samples to 2 or more",
    ),
  decay: ({ options }) =>
    when(
      options["baseline"] !== "moving",
      "only a moving baseline decays",
      "add `baseline: moving`, or remove it",
    ),
  first: ({ options }) =>
    when(
      options["first"] === options["samples"],
      "the first decision has as many alternatives as the others anyway",
      "use another number, or remove it",
    ),
  continued: afterOne("it says how alternatives are continued"),
  terminationThreshold: (setting) => {
    const { alpha, terminationThreshold } = setting.options;
    const [threshold, most] = [Number(terminationThreshold), Number(alpha) + 1];
    return (
      overTurns("it ends an episode before its last turn")(setting) ??
      when(
        threshold < 0,
        "rewards are at least 0, so the first turn would always be the last",
        "use 0 or more, or set team.turns to 1",
      ) ??
      when(threshold >= most, `α·team + local is at most ${most}`, `use less than ${most}, or remove it`)
    );
  },
  earlyEndWeight: ({ options }) =>
    when(
      options["terminationThreshold"] === undefined,
      "only a `terminationThreshold` ends an episode early",
      "add one, or remove it",
    ),
};

/**
 * A critic's values are a turn apart, whatever the return; without a critic, γ only applies between the rewards of a
 * sum.
 */
function undiscounted(setting: RowSetting): Reason | undefined {
  const { options, algorithm } = setting;
  const ofOneNumber =
    isTree(setting) || algorithm.critic !== null
      ? undefined
      : underReward(ofSeveralTimes, "it is one number without time steps")(setting);
  const ofOneTurn = when(
    isTree(setting) && !sumsLater(options as unknown as RewardOptions),
    `with \`handOver: ${String(options["handOver"])}\` it has no effect: each turn has its own reward`,
    "use `handOver: all` or `each`, or remove it",
  );
  return ofOneNumber ?? ofOneTurn ?? overTurns("it counts turns")(setting);
}

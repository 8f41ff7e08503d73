/**
 * The keys of MAGRPO's configuration files (arXiv 2508.04652; the first code and CoMLRL up to 1.3.2) and ours.
 * docs/reference/magrpo-keys.md is made from this table.
 */
import * as convert from "./conversions.ts";
import { to, type Settings } from "./conversions.ts";

export interface PublishedKey {
  /** `magrpo.*` is also `grpo.*`. */
  readonly names: readonly string[];
  /** Our keys; `NAME` is every policy or every role. */
  readonly ours: readonly string[];
  /** A note, or the reason why there is no key of ours. */
  readonly note: string;
  /** Absent: the key has no effect. */
  readonly settings?: Settings;
  /** Without effect if this key is given, too. */
  readonly unless?: string;
}

function same(names: readonly string[], path: string, note = ""): PublishedKey {
  return { names, ours: [path], note, settings: to(path) };
}

function converted(
  names: readonly string[],
  ours: readonly string[],
  settings: Settings,
  note = "",
): PublishedKey {
  return { names, ours, note, settings };
}

function none(names: readonly string[], note: string): PublishedKey {
  return { names, ours: [], note };
}

function external(name: string, magrpo: string = name): readonly string[] {
  return [`magrpo.${magrpo}`, `external.${name}`];
}

export const publishedKeys: readonly PublishedKey[] = [
  converted(
    ["model.name", "model_name"],
    ["policies.NAME.model.path"],
    to("policies.NAME.model.path", convert.modelDirectory),
    "`Qwen/Qwen2.5-Coder-7B` is the directory `models/Qwen2.5-Coder-7B`",
  ),
  { ...same(["model.temperature"], "train.temperature"), unless: "magrpo.temperature" },
  { ...same(["model.top_p"], "train.topP"), unless: "magrpo.top_p" },
  none(["model.type", "model.max_length", "model.special_tokens"], "read from the model's directory"),
  none(
    ["model.tokenizer_kwargs", "model.model_kwargs", "model.dtype", "model.torch_dtype"],
    "`engine.precision` chooses the precision",
  ),
  none(["tokenizer.padding_side"], "nothing is padded"),
  converted(["dataset.name"], ["environment.dataset"], to("environment.dataset", convert.dataset)),
  none(["dataset.type"], "the data set determines the form of its rows"),
  same(["dataset.train_split"], "environment.splits.train", "the number of epochs stays"),
  same(["dataset.eval_split"], "environment.splits.heldOut"),
  none(["output.base_dir"], "the option `--runs`"),
  none(["output.save_final_model", "output.save_path"], "the run's last checkpoint is the final model"),
  none(["output.verbose"], "episodes are in the run's folder"),
  converted(
    ["reward_processor.scale_factor"],
    ["algorithm.alpha"],
    convert.scale,
    "times the recipe's; not if `reward_processor.enabled=False`",
  ),
  converted(["reward_processor.enabled"], [], () => [], "says whether `scale_factor` applies"),
  none(["reward_processor.shift"], "the group's mean removes it from advantages"),
  converted(
    ["magrpo.num_train_epochs"],
    ["train.steps"],
    convert.epochs,
    "epochs × problems / `tasksPerStep`",
  ),
  same(["magrpo.per_device_train_batch_size"], "train.tasksPerStep"),
  same(["magrpo.learning_rate", "magrpo.agent_learning_rate"], "train.learningRate"),
  same(["magrpo.save_steps"], "checkpoint.every"),
  none(["magrpo.logging_steps"], "every step is recorded"),
  same(["magrpo.num_generations"], "algorithm.samples"),
  same(["magrpo.max_new_tokens"], "team.roles.NAME.maxTokens"),
  same(["magrpo.temperature"], "train.temperature"),
  same(["magrpo.top_p"], "train.topP"),
  converted(["magrpo.top_k"], ["train.topK"], to("train.topK", convert.noneIsZero)),
  same(["magrpo.seed"], "seed"),
  converted(["magrpo.num_agents"], ["team.roles"], convert.agents, "must be the recipe's"),
  converted(
    ["magrpo.num_turns"],
    ["team.turns"],
    convert.turns,
    "a recipe of one turn also gets `algorithm.handOver: best`, `earlyEndWeight` and `terminationThreshold`",
  ),
  converted(["magrpo.turn_gradient_weights"], ["algorithm.turnWeights"], convert.turnWeights, "one per turn"),
  converted(
    ["magrpo.early_termination_weight"],
    ["algorithm.earlyEndWeight"],
    convert.earlyEndWeight,
    "with `algorithm.terminationThreshold`",
  ),
  converted(
    ["magrpo.early_termination_threshold", "magrpo.termination_threshold"],
    ["algorithm.terminationThreshold"],
    convert.threshold,
    "minus .001, since ours must be exceeded; up to 0: plus `alpha`",
  ),
  same(["magrpo.handoff", "magrpo.external_handoff"], "algorithm.handOver"),
  converted(["magrpo.joint_mode"], ["algorithm.joint"], to("algorithm.joint", convert.jointMode)),
  same(["magrpo.discount"], "algorithm.discount"),
  converted(
    ["magrpo.advantage_mode"],
    ["algorithm.name"],
    to("algorithm.name", convert.algorithmOfMode),
    "`magrpo`, `mareinforce`, `maremax`, `marloo`",
  ),
  none(["magrpo.reward_shift"], "the group's mean removes it from advantages"),
  none(
    ["magrpo.normalize_advantage", "magrpo.advantage_normalization", "magrpo.epsilon_clip"],
    "the advantages of MAGRPO are not normalised",
  ),
  none(["magrpo.rollout_buffer_size", "magrpo.train_batch_size"], "a step trains on all its samples at once"),
  same(["magrpo.eval_interval"], "evaluation.every"),
  same(["magrpo.eval_num_samples"], "evaluation.tasksDuring"),
  converted(
    external("mode", "external_mode"),
    ["environment.feedback"],
    convert.feedback,
    "`expert_edits` without an expert asks `deepseek-coder`",
  ),
  converted(
    [...external("expert_model"), "external.expert_edits_model"],
    ["environment.expert"],
    convert.expert,
    "the name determines the provider",
  ),
  converted(
    external("sandbox_slice"),
    ["environment.sandboxSlice"],
    to("environment.sandboxSlice", convert.shownTests),
    "`None` and `all` are 0",
  ),
  same(external("original_prompt", "external_original_prompt"), "environment.originalPrompt"),
  same(external("previous_response", "external_previous_response"), "environment.previousResponse"),
  converted(
    ["external.memory_mode"],
    ["team.roles.NAME.memory"],
    to("team.roles.NAME.memory", convert.memory),
    "`last`: `turn`; `full`, `memoryful`: `conversation`",
  ),
  none(
    ["external.previous_prompts", "external.previous_responses", "external.external_prompt_passthrough"],
    "`team.roles.NAME.memory` chooses what later prompts contain",
  ),
  none(["wandb"], "`logging.wandb` sends metrics there"),
];

/** The sections of the published files, and the one key outside. */
export const publishedHeads: readonly string[] = [
  ...new Set(publishedKeys.flatMap(({ names }) => names.map((name) => name.split(".")[0] ?? ""))),
  "grpo",
];

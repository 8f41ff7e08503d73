/** The flags of MAGRPO's training scripts, which win over `--override`. */
import { Command, Option } from "commander";

export interface PublishedFlags {
  readonly model_name?: string;
  readonly num_epochs?: string;
  readonly num_turns?: string;
  readonly turn_gradient_weights?: readonly string[];
  /** Folder of the runs. */
  readonly output_base_dir?: string;
}

const flags = [
  ["--model_name <name>", "model of every policy"],
  ["--num_epochs <number>", "passes over the problems"],
  ["--num_turns <number>", "turns of an episode"],
  ["--turn_gradient_weights <w...>", "one per turn"],
  ["--output_base_dir <folder>", "folder of the runs"],
] as const;

export function withPublishedFlags(command: Command): Command {
  for (const [flag, meaning] of flags) {
    command.addOption(new Option(flag, meaning).helpGroup("Flags of MAGRPO's scripts:"));
  }
  return command;
}

/** The flags as overrides. */
export function overridesOf(given: PublishedFlags): readonly string[] {
  const { model_name: model, num_epochs: epochs, num_turns: turns, turn_gradient_weights: weights } = given;
  return [
    ...(model === undefined ? [] : [`model.name=${model}`]),
    ...(epochs === undefined ? [] : [`magrpo.num_train_epochs=${epochs}`]),
    ...(turns === undefined ? [] : [`magrpo.num_turns=${turns}`]),
    ...(weights === undefined ? [] : [`magrpo.turn_gradient_weights=[${weights.join(",")}]`]),
  ];
}

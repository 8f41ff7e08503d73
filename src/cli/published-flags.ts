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
  ["--model_name <name>", "--override model.name=…"],
  ["--num_epochs <number>", "--override magrpo.num_train_epochs=…"],
  ["--num_turns <number>", "--override magrpo.num_turns=…"],
  ["--turn_gradient_weights <weight...>", "--override magrpo.turn_gradient_weights=[…]"],
  ["--output_base_dir <folder>", "--runs"],
] as const;

export function withPublishedFlags(command: Command): Command {
  for (const [flag, equal] of flags) {
    command.addOption(new Option(flag, `as \`${equal}\``).helpGroup("Flags of MAGRPO's scripts:"));
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

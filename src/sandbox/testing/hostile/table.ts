/** All hostile programs. */
import { files } from "./files.ts";
import { interpreter } from "./interpreter.ts";
import { kernel } from "./kernel.ts";
import { network } from "./network.ts";
import { processes } from "./processes.ts";
import type { HostileProgram } from "./program.ts";
import { resources } from "./resources.ts";

export const hostilePrograms: readonly HostileProgram[] = [
  ...resources,
  ...files,
  ...network,
  ...processes,
  ...kernel,
  ...interpreter,
];

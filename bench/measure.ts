/** Every measurement, in one run on one machine. */
import { measureEndToEnd, type EndToEnd } from "./end-to-end/measure.ts";
import { measureGame, type GameSpeed } from "./game.ts";
import { games } from "./games.ts";
import { withEngines, type LocalEngines } from "./local.ts";
import { describeMachine, type Machine } from "./machine.ts";
import type { Options } from "./options.ts";
import type { Peer, PeerVersions } from "./peer-process.ts";
import { measureProducts, type Products } from "./products.ts";
import { measureSampling, type Sampling } from "./sampling.ts";
import { measureSandboxes, type SandboxSpeed } from "./sandbox.ts";
import { measureScale, type Scale } from "./scale/measure.ts";
import { sampling, type ModelName } from "./shapes.ts";
import { measureSharedPrompts, type SharedPrompts } from "./shared-prompts.ts";
import { measureTraining, type Training } from "./training.ts";
import { measureVocabularies, type VocabularyLoad } from "./vocabularies.ts";

/** The document of `--json`. */
export interface Measurements {
  readonly schema_version: 3;
  readonly date: string;
  readonly machine: Machine;
  readonly peer?: PeerVersions;
  readonly products?: Products;
  readonly models: readonly ModelMeasurements[];
  readonly games: readonly GameSpeed[];
  readonly vocabularies: readonly VocabularyLoad[];
  readonly sandboxes?: readonly SandboxSpeed[];
  readonly scale?: Scale;
  readonly endToEnd?: readonly EndToEnd[];
}

export interface ModelMeasurements {
  readonly training: Training;
  readonly sampling: readonly Sampling[];
  readonly sharedPrompts: SharedPrompts;
}

/** `tell` is called with the name of each measurement. */
export async function measure(
  options: Options,
  peer: Peer | undefined,
  tell: (what: string) => void,
): Promise<Measurements> {
  const { seconds, threads } = options;
  const { game, sandbox, scale, endToEnd } = options;
  const withModels = !game && !options.vocabularies && !sandbox && !scale && !endToEnd;
  const speeds: GameSpeed[] = [];
  for (const rules of withModels || game ? games : []) {
    tell(`rules of ${rules.name}`);
    speeds.push(await measureGame(rules, seconds));
  }
  const withVocabularies = withModels || options.vocabularies;
  if (withVocabularies) tell("vocabularies");
  const vocabularies = withVocabularies ? await measureVocabularies(seconds) : [];
  if (withModels) tell("matrix products");
  const products = withModels ? await measureProducts(threads) : undefined;
  const models: ModelMeasurements[] = [];
  for (const name of withModels ? options.models : []) {
    const work = (engines: LocalEngines) => measureModel(name, engines, peer, seconds, tell);
    models.push(await withEngines(name, threads, work));
  }
  const trl = process.env["TROUPE_TRL_PYTHON"];
  const whole: EndToEnd[] = [];
  for (const size of endToEnd ? options.sizes : [])
    whole.push(await measureEndToEnd(size, threads, trl, tell));
  return {
    schema_version: 3,
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(threads),
    ...(peer === undefined ? {} : { peer: peer.versions }),
    ...(products === undefined ? {} : { products }),
    models,
    games: speeds,
    vocabularies,
    ...(scale ? { scale: await measureScale(tell) } : {}),
    ...(endToEnd ? { endToEnd: whole } : {}),
    ...(sandbox ? { sandboxes: await measureSandboxes(seconds, threads, tell) } : {}),
  };
}

async function measureModel(
  name: ModelName,
  engines: LocalEngines,
  peer: Peer | undefined,
  seconds: number,
  tell: (what: string) => void,
): Promise<ModelMeasurements> {
  tell(`${name}: training`);
  const training = await measureTraining(name, engines, peer, seconds);
  const rows: Sampling[] = [];
  for (const batch of sampling.batches) {
    tell(`${name}: sampling, batch ${batch}`);
    rows.push(await measureSampling(name, batch, engines, peer, seconds));
  }
  tell(`${name}: shared prompts`);
  return { training, sampling: rows, sharedPrompts: await measureSharedPrompts(name, engines, seconds) };
}

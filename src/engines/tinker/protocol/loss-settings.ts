/** Names and settings of losses: the engine's in the protocol, with every option of Troupe's, and back. */
import { TroupeError } from "../../../errors.ts";
import type { EntropyInLoss, KlEstimator, KlInLoss, Loss } from "../../engine.ts";

/** Thresholds are ratios: 1 − low and 1 + high. */
export function lossConfig(loss: Loss): Readonly<Record<string, number | string>> {
  if (loss.type === "cross_entropy") return {};
  if (loss.type === "value") return defined({ value_clip: loss.clip });
  if (loss.type === "importance_sampling") return defined({ kl: loss.kl, entropy: loss.entropy });
  const bounds = { clip_low_threshold: 1 - loss.clipLow, clip_high_threshold: 1 + loss.clipHigh };
  if (loss.type === "cispo") return defined({ ...bounds, kl: loss.kl, entropy: loss.entropy });
  return defined({
    ...bounds,
    dual_clip: loss.dualClip,
    ratio: loss.ratio,
    kl: loss.kl,
    entropy: loss.entropy,
  });
}

/** Without what is undefined. */
function defined<T extends object>(settings: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const present = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

export function lossName(loss: Loss): string {
  return loss.type === "value" ? "ppo_critic" : loss.type;
}

/** A loss of the protocol as one of the engine. */
export interface ProtocolLoss {
  readonly loss: Loss;
  /** Coefficient of the penalty for the divergence from the policy that sampled. */
  readonly penalty?: number | undefined;
  /** Its ratio is 1 by definition, which is no clip. */
  readonly hasNoRatio?: boolean;
}

/** @throws TroupeError `bad_arguments` for an unknown loss or setting, or one that makes no sense */
export function lossOf(name: string, config: Readonly<Record<string, number | string>>): ProtocolLoss {
  const settings = new Settings(name, config);
  const loss = readPenalised(name, settings) ?? { loss: readLoss(name, settings) };
  settings.end();
  return loss;
}

/**
 * `dro`: −Σ (A·logp − ½·β·(logp − logprobs)²). `stable_reinforce`: −Σ min(ρ, 2)·A·logp + kl_coeff·½·(logp − logprobs)²
 * with a constant ratio; what the hosted service computes by this name is not published, and is the same where ρ = 1.
 */
function readPenalised(name: string, settings: Settings): ProtocolLoss | null {
  if (name !== "dro" && name !== "stable_reinforce") return null;
  const isDro = name === "dro";
  const penalty = settings.number(isDro ? "beta" : "kl_coeff", { least: 0 }) ?? (isDro ? undefined : 0);
  if (penalty === undefined) throw new TroupeError("bad_arguments", "The loss dro needs the setting beta.");
  const bound = isDro ? 0 : 1;
  const loss = { type: "cispo", clipLow: bound, clipHigh: bound } as const;
  return { ...(penalty === 0 ? { loss } : { loss: { ...loss, kl: "k2" }, penalty }), hasNoRatio: isDro };
}

function readLoss(name: string, settings: Settings): Loss {
  switch (name) {
    case "cross_entropy":
      return { type: "cross_entropy" };
    case "cispo":
      return { type: "cispo", ...clips(settings), ...added(settings) };
    case "ppo_critic":
      return { type: "value", ...defined({ clip: settings.number("value_clip", { above: 0 }) }) };
    case "importance_sampling":
      return { type: "importance_sampling", ...added(settings) };
    case "gspo":
    case "ppo": {
      const ratio = settings.oneOf("ratio", name === "gspo" ? ["sequence"] : ["token", "sequence"]);
      return {
        type: "ppo",
        ...clips(settings),
        ...defined({
          dualClip: settings.number("dual_clip", { above: 1 }),
          ratio: name === "gspo" ? "sequence" : ratio,
        }),
        ...added(settings),
      };
    }
    default:
      throw new TroupeError(
        "bad_arguments",
        `The loss ${JSON.stringify(name)} is not one of cross_entropy, importance_sampling, ppo, gspo, cispo, dro, stable_reinforce, ppo_critic.`,
      );
  }
}

function clips(settings: Settings): { clipLow: number; clipHigh: number } {
  return {
    clipLow: 1 - (settings.number("clip_low_threshold", { most: 1 }) ?? 0.8),
    clipHigh: (settings.number("clip_high_threshold", { least: 1 }) ?? 1.2) - 1,
  };
}

function added(settings: Settings): KlInLoss & EntropyInLoss {
  return defined({ kl: settings.oneOf("kl", estimators), entropy: settings.number("entropy") });
}

const estimators = ["k1", "k2", "k3"] as const satisfies readonly KlEstimator[];

/** Where a number must be. */
interface Range {
  readonly least?: number;
  readonly above?: number;
  readonly most?: number;
}

/**
 * A loss's settings, of which each is read once. They are checked here, because `forward` measures losses that no engine
 * sees.
 */
class Settings {
  readonly #loss: string;
  readonly #left: Map<string, number | string>;

  constructor(loss: string, config: Readonly<Record<string, number | string>>) {
    this.#loss = loss;
    this.#left = new Map(Object.entries(config));
  }

  oneOf<T extends string>(key: string, allowed: readonly T[]): T | undefined {
    const value = this.#take(key);
    const found = allowed.find((each) => each === value);
    if (value === undefined || found !== undefined) return found;
    throw this.#wrong(key, value, allowed.join(" or "));
  }

  number(key: string, range: Range = {}): number | undefined {
    const value = this.#take(key);
    if (value === undefined) return undefined;
    const { least = -Infinity, above = -Infinity, most = Infinity } = range;
    const isNumber = typeof value === "number" && Number.isFinite(value);
    if (isNumber && value >= least && value > above && value <= most) return value;
    const [bound] = Object.entries(range);
    const words = { least: "of at least", above: "above", most: "of at most" };
    const where = bound === undefined ? "" : ` ${words[bound[0] as keyof Range]} ${bound[1]}`;
    throw this.#wrong(key, value, `a number${where}`);
  }

  #take(key: string): number | string | undefined {
    const value = this.#left.get(key);
    this.#left.delete(key);
    return value;
  }

  #wrong(key: string, value: number | string, expected: string): TroupeError {
    const found = typeof value === "number" ? value : JSON.stringify(value);
    return new TroupeError(
      "bad_arguments",
      `${key} of the loss ${this.#loss} is ${found}; expected ${expected}.`,
    );
  }

  end(): void {
    const [unknown] = this.#left.keys();
    if (unknown === undefined) return;
    throw new TroupeError(
      "bad_arguments",
      `The loss ${this.#loss} has no setting ${JSON.stringify(unknown)}.`,
    );
  }
}

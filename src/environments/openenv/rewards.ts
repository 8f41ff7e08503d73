/** What an episode earned: the server's rewards in the scale of scores, given to those who moved. */
import { TroupeError } from "../../errors.ts";
import type { ActionReward } from "../environment.ts";
import type { OpenEnvOptions } from "./options.ts";

/** Sums of rewards are not exact: 10 · 0.1 < 1. */
const rounding = 1e-9;
const team = "the team";

export class Earnings {
  readonly #options: OpenEnvOptions;
  /** Who moved, in order. */
  readonly #movers: string[] = [];
  /** What each move earned for its mover, or for the team, in the server's units. */
  readonly #gains: number[] = [];
  readonly #totals = new Map<string, number>();
  #isRewarded = false;
  #reason: string | null = null;

  constructor(options: OpenEnvOptions) {
    this.#options = options;
  }

  /** What is wrong with the last move; null: nothing. */
  get reason(): string | null {
    return this.#reason;
  }

  /** Whether there was any reward. */
  get isRewarded(): boolean {
    return this.#isRewarded;
  }

  /** @param reward null: none */
  moved(seat: string, reward: number | null): void {
    this.#movers.push(seat);
    this.#gains.push(0);
    if (reward === null) return;
    this.#add(this.#ownerOf(seat), reward);
    if (this.#options.rewards === "zero-sum") this.#add(this.#otherThan(seat), -reward);
  }

  /** A move that is none: its seat ends with the lowest score; what one of two seats loses, the other wins. */
  lost(seat: string, reason: string): void {
    const { bounds, rewards } = this.#options;
    this.#movers.push(seat);
    this.#gains.push(0);
    this.#reason = reason;
    this.#set(this.#ownerOf(seat), bounds[0]);
    if (rewards === "zero-sum") this.#set(this.#otherThan(seat), bounds[1]);
  }

  /** In [0, 1]; of seats that compete, the first one's. @throws TroupeError `bad_recipe` if it is beyond the bounds */
  score(): number {
    const { rewards, seats } = this.#options;
    for (const owner of this.#totals.keys()) this.#scaled(owner);
    return this.#scaled(rewards === "team" ? team : (seats[0] as string));
  }

  /** Of each move, in order. Those of an owner add up to its score. */
  rewards(): readonly ActionReward[] {
    const { bounds, rewards } = this.#options;
    const [low, high] = bounds;
    const owners = this.#movers.map((seat) => this.#ownerOf(seat));
    return this.#gains.map((gain, index) => {
      const isLast = owners.lastIndexOf(owners[index] as string) === index;
      const value = (gain - (isLast ? low : 0)) / (high - low);
      const isOfLast = index === this.#gains.length - 1 && this.#reason !== null;
      return {
        ...(rewards === "team"
          ? { team: value, local: 0, parts: {} }
          : { team: 0, local: value, parts: { own: value } }),
        ...(isOfLast ? { reason: this.#reason as string } : {}),
      };
    });
  }

  #ownerOf(seat: string): string {
    return this.#options.rewards === "team" ? team : seat;
  }

  #otherThan(seat: string): string {
    return this.#options.seats.find((other) => other !== seat) as string;
  }

  #add(owner: string, reward: number): void {
    const before = this.#totals.get(owner) ?? 0;
    this.#set(owner, this.#options.score === "sum" ? before + reward : reward);
  }

  #set(owner: string, total: number): void {
    const before = this.#totals.get(owner) ?? 0;
    this.#isRewarded = true;
    this.#totals.set(owner, total);
    const last = this.#movers.findLastIndex((seat) => this.#ownerOf(seat) === owner);
    if (last >= 0) this.#gains[last] = (this.#gains[last] as number) + total - before;
  }

  #scaled(owner: string): number {
    const [low, high] = this.#options.bounds;
    const total = this.#totals.get(owner) ?? 0;
    const score = (total - low) / (high - low);
    if (score > -rounding && score < 1 + rounding) return nearest(score);
    throw new TroupeError(
      "bad_recipe",
      `environment.bounds: an episode of ${owner} earned ${total}, which is not from ${low} to ${high}; ` +
        "set the lowest and the highest score that the server can give",
    );
  }
}

/** A score is 1 exactly on success. */
function nearest(score: number): number {
  if (score < rounding) return 0;
  return score > 1 - rounding ? 1 : score;
}

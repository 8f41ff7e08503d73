/** What somebody outside says about an episode when it is over: its reward, once. */
import { BadRequest } from "./roles.ts";
import type { Session } from "./session.ts";

/** What is wrong with a report; null: nothing. */
type ReportCheck = (value: unknown) => string | null;

export class Report {
  readonly #session: Session;
  readonly #given = Promise.withResolvers<void>();
  #check: ReportCheck | null = null;
  #value: unknown;

  constructor(session: Session) {
    this.#session = session;
  }

  /** From now on a report is accepted, if the check finds nothing wrong with it. */
  expect(check: ReportCheck): void {
    this.#check = check;
  }

  /** Resolves when it has come. */
  get given(): Promise<void> {
    return this.#given.promise;
  }

  /** Undefined: it has not come. */
  get value(): unknown {
    return this.#value;
  }

  /** @throws BadRequest if it comes twice, too late, without being expected, or is none */
  give(value: unknown): void {
    if (this.#session.hasEnded || this.#session.failing.aborted)
      throw rejected("The episode has ended; this reward is not used.", "episode_ended");
    if (this.#check === null)
      throw rejected(
        "The recipe takes the reward from elsewhere: set `environment.reward` to webhook.",
        "not_expected",
      );
    if (this.#value !== undefined)
      throw rejected("The episode has its reward; this one is not used.", "reward_given");
    const problem = this.#check(value);
    if (problem !== null) throw new BadRequest(problem, { code: "invalid_reward" });
    this.#value = value;
    this.#given.resolve();
  }
}

function rejected(message: string, code: string): BadRequest {
  return new BadRequest(message, { status: 409, code });
}

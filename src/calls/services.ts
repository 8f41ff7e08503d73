/** What a run's services did: how often each was asked, how its answers ended, how long they took. */
import { ServiceError } from "../errors.ts";

export interface ServiceUse {
  /** Questions that were asked. Those whose answer was recorded before are not among them. */
  readonly calls: number;
  /** Questions that ended with a reply that is none. */
  readonly faults: number;
  /** Questions that ended without any reply, in spite of retries. */
  readonly failures: number;
  /** Attempts after the first. */
  readonly retries: number;
  /** Of all attempts together. */
  readonly seconds: number;
  /** Of the slowest attempt. */
  readonly slowest: number;
  /** Why the last question without an answer has none. Absent: all have one. */
  readonly lastProblem?: string;
}

const unused: ServiceUse = { calls: 0, faults: 0, failures: 0, retries: 0, seconds: 0, slowest: 0 };

export class Service {
  /** For messages and records: `coach`, `expert`, `mcp search`. */
  readonly name: string;
  #use: ServiceUse = unused;

  constructor(name: string) {
    this.name = name;
  }

  get use(): ServiceUse {
    return this.#use;
  }

  /** Times one attempt. @param number from 0 */
  async attempt<T>(number: number, work: () => Promise<T>): Promise<T> {
    const began = performance.now();
    try {
      return await work();
    } finally {
      const seconds = (performance.now() - began) / 1000;
      const { retries, seconds: before, slowest } = this.#use;
      this.#use = {
        ...this.#use,
        retries: retries + (number > 0 ? 1 : 0),
        seconds: before + seconds,
        slowest: Math.max(slowest, seconds),
      };
    }
  }

  /** A question has ended. Cancelled ones are not counted. */
  ended(how: "answered" | "faulty" | "failed", problem?: string): void {
    const { calls, faults, failures } = this.#use;
    this.#use = {
      ...this.#use,
      calls: calls + 1,
      faults: faults + (how === "faulty" ? 1 : 0),
      failures: failures + (how === "failed" ? 1 : 0),
      ...(how === "answered" || problem === undefined ? {} : { lastProblem: problem }),
    };
  }

  /** Counts work that retries by itself. @throws whatever the work throws */
  async counting<T>(work: () => Promise<T>): Promise<T> {
    try {
      const answer = await this.attempt(0, work);
      this.ended("answered");
      return answer;
    } catch (error) {
      if (error instanceof ServiceError) this.ended("failed", error.message);
      throw error;
    }
  }
}

/** The services of a run, by name. One log per run. */
export class ServiceLog {
  readonly #services = new Map<string, Service>();
  #taken = new Map<string, ServiceUse>();

  /** The same one for the same name. */
  named(name: string): Service {
    const service = this.#services.get(name) ?? new Service(name);
    this.#services.set(name, service);
    return service;
  }

  /** What was used since the last time this was called, in the order of the names. Unused services are omitted. */
  take(): Readonly<Record<string, ServiceUse>> {
    const news = [...this.#services].map(([name, { use }]) => {
      const since = difference(use, this.#taken.get(name) ?? unused);
      this.#taken.set(name, use);
      return [name, since] as const;
    });
    const used = news.filter(([, { calls, seconds }]) => calls > 0 || seconds > 0);
    return Object.fromEntries(used.toSorted(([left], [right]) => (left < right ? -1 : 1)));
  }
}

/** `slowest` stays that of the whole run. */
function difference(now: ServiceUse, before: ServiceUse): ServiceUse {
  const { lastProblem, ...rest } = now;
  const isNew = now.failures + now.faults > before.failures + before.faults;
  return {
    ...rest,
    calls: now.calls - before.calls,
    faults: now.faults - before.faults,
    failures: now.failures - before.failures,
    retries: now.retries - before.retries,
    seconds: now.seconds - before.seconds,
    ...(isNew && lastProblem !== undefined ? { lastProblem } : {}),
  };
}

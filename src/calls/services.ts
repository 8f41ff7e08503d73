/** What a run's services did: how often each was asked, how its answers ended, how long they took. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ServiceError } from "../errors.ts";

export interface ServiceUse {
  /** Questions, with those whose answer was recorded before: the same in a run that was resumed. */
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
  /** Why the last question without an answer has none, or what ended its last attempt. Absent: all have one. */
  readonly lastProblem?: string;
  /** Only questions with a problem were counted: no share can be told. Absent: all were. */
  readonly onlyProblems?: true;
}

const unused: ServiceUse = { calls: 0, faults: 0, failures: 0, retries: 0, seconds: 0, slowest: 0 };

export type ServicesUsed = Readonly<Record<string, ServiceUse>>;

/** What the work in progress has used, by service. */
const ledger = new AsyncLocalStorage<Map<string, ServiceUse>>();

/** The result of `work`, and what it asked of services, whatever else asks them meanwhile. Inner calls count apart. */
export async function withServicesUsed<T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly services: ServicesUsed }> {
  const used = new Map<string, ServiceUse>();
  const value = await ledger.run(used, work);
  const sorted = [...used].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return { value, services: Object.fromEntries(sorted) };
}

/** Of both together. */
export function addedUse(one: ServicesUsed, other: ServicesUsed): ServicesUsed {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted();
  return Object.fromEntries(names.map((name) => [name, sumOf(one[name] ?? unused, other[name] ?? unused)]));
}

function sumOf(one: ServiceUse, other: ServiceUse): ServiceUse {
  const lastProblem = other.lastProblem ?? one.lastProblem;
  const onlyProblems = one.onlyProblems ?? other.onlyProblems;
  return {
    calls: one.calls + other.calls,
    faults: one.faults + other.faults,
    failures: one.failures + other.failures,
    retries: one.retries + other.retries,
    seconds: one.seconds + other.seconds,
    slowest: Math.max(one.slowest, other.slowest),
    ...(lastProblem === undefined ? {} : { lastProblem }),
    ...(onlyProblems === undefined ? {} : { onlyProblems }),
  };
}

export interface ServiceOptions {
  /**
   * Records of a run have its faults, failures and retries alone: how often it is asked depends on what was recorded
   * before a run resumed.
   */
  readonly onlyProblems?: boolean;
}

export class Service {
  /** For messages and records: `coach`, `expert`, `mcp search`. */
  readonly name: string;
  #use: ServiceUse = unused;
  readonly #onlyProblems: boolean;

  constructor(name: string, { onlyProblems = false }: ServiceOptions = {}) {
    this.name = name;
    this.#onlyProblems = onlyProblems;
  }

  get use(): ServiceUse {
    return this.#use;
  }

  #add(more: Partial<ServiceUse>): void {
    const change = { ...unused, ...more };
    this.#use = sumOf(this.#use, change);
    if (this.#onlyProblems && change.faults + change.failures + change.retries === 0) return;
    const own = ledger.getStore();
    const counted = this.#onlyProblems ? { ...change, onlyProblems: true as const } : change;
    own?.set(this.name, sumOf(own.get(this.name) ?? unused, counted));
  }

  /** Times one attempt. @param number from 0 */
  async attempt<T>(number: number, work: () => Promise<T>): Promise<T> {
    const began = performance.now();
    try {
      return await work();
    } finally {
      const seconds = (performance.now() - began) / 1000;
      this.#add({ retries: number > 0 ? 1 : 0, seconds, slowest: seconds });
    }
  }

  /** A question has ended. Cancelled ones are not counted. */
  ended(how: "answered" | "faulty" | "failed", problem?: string): void {
    this.#add({
      calls: 1,
      faults: how === "faulty" ? 1 : 0,
      failures: how === "failed" ? 1 : 0,
      ...(how === "answered" || problem === undefined ? {} : { lastProblem: problem }),
    });
  }

  /** Another attempt begins, of work that retries by itself. */
  retried(problem?: string): void {
    this.#add({ retries: 1, ...(problem === undefined ? {} : { lastProblem: problem }) });
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

  /** The same one for the same name. @param options of the first call */
  named(name: string, options: ServiceOptions = {}): Service {
    const service = this.#services.get(name) ?? new Service(name, options);
    this.#services.set(name, service);
    return service;
  }
}

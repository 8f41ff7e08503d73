/**
 * Engines of tests on few workers, one after the other: importing PyTorch takes seconds. Tests that need it are skipped
 * without TROUPE_TORCH_PYTHON, an interpreter with PyTorch and transformers.
 */
import { ServiceError } from "../../../errors.ts";
import { drawFloat, generatorOf, rootKey } from "../../../random.ts";
import { atEndOfFile } from "../../../test-end.ts";
import { LastingWorker, type WorkerProcess } from "../lasting-worker.ts";
import { python } from "./interpreter.ts";
import { TorchEngine } from "../torch-engine.ts";
import type { TorchWorker } from "../worker.ts";
import { startWorker } from "./own-worker.ts";

export { python };

/** Asks a worker, and notes which policies it has: a new process would have none of them. */
function remembering(worker: TorchWorker) {
  const names = new Set<string>();
  const ask: WorkerProcess["ask"] = (verb, header, ...given) => {
    const { name, to } = header as { name?: string; to?: string };
    if (verb === "create" && name !== undefined) names.add(name);
    if (verb === "copy" && to !== undefined) names.add(to);
    return worker.ask(verb, header, ...given);
  };
  // One that was rejected is not there.
  const forget = () =>
    Promise.all([...names].map((name) => worker.ask("remove", { name }).catch(() => undefined)));
  return { ask, forget };
}

interface Workers {
  take(): TorchWorker;
  putBack(worker: TorchWorker): void;
}

/** Workers that are shared, of a kind. */
export function workersOf(start: () => TorchWorker): Workers {
  const idle: TorchWorker[] = [];
  const started = (): TorchWorker => {
    const worker = start();
    atEndOfFile(() => worker.close());
    return worker;
  };
  return { take: () => idle.pop() ?? started(), putBack: (worker) => void idle.push(worker) };
}

const workers = workersOf(() => startWorker());

/** Opens an engine on a shared worker. Closing it removes its policies, and the next engine gets the worker. */
export function openShared(own: Workers = workers): TorchEngine {
  const worker = own.take();
  const { ask, forget } = remembering(worker);
  let isClosed = false;
  return new TorchEngine({
    saved: () => undefined,
    moved: () => undefined,
    get ready() {
      return worker.ready;
    },
    get memory() {
      return worker.memory;
    },
    ask,
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await forget();
      own.putBack(worker);
    },
  });
}

/**
 * The same with processes that end in a share of the verbs, before or after these have had their effect. It is one
 * process that forgets everything, because importing PyTorch takes seconds.
 */
export function openMortal(share: number): TorchEngine {
  const worker = workers.take();
  const generator = generatorOf(rootKey(11));
  const forgetting = new Set<Promise<unknown>>();
  /** Verbs that the process before has answered: most processes live long enough to repeat them. */
  let answered = 0;
  const start = (): WorkerProcess => {
    const { ask: askIt, forget } = remembering(worker);
    const end = Promise.withResolvers<never>();
    end.promise.catch(() => undefined);
    const ready = Promise.all(forgetting).then(() => worker.ready);
    const die = (): void => {
      if (isOver) return;
      isOver = true;
      forgetting.add(forget());
      end.reject(new ServiceError("The worker ended."));
    };
    let isOver = false;
    let spared = drawFloat(generator) < 0.7 ? answered : 0;
    answered = 0;
    const ask: WorkerProcess["ask"] = async (...given) => {
      if (isOver) return end.promise;
      const drawn = spared-- > 0 ? 1 : drawFloat(generator);
      if (drawn < share / 2) die();
      if (isOver) return end.promise;
      const answer = await Promise.race([askIt(...given), end.promise]);
      answered += 1;
      if (drawn < share) die();
      return isOver ? end.promise : answer;
    };
    return {
      ready,
      get memory() {
        return worker.memory;
      },
      ask,
      close: async () => {
        die();
        await Promise.all(forgetting);
      },
    };
  };
  const lasting = new LastingWorker(start);
  let isClosed = false;
  return new TorchEngine({
    ready: lasting.ready,
    get memory() {
      return lasting.memory;
    },
    ask: (...given) => lasting.ask(...given),
    saved: (...given) => lasting.saved(...given),
    moved: (...given) => lasting.moved(...given),
    close: async () => {
      await lasting.close();
      if (!isClosed) workers.putBack(worker);
      isClosed = true;
    },
  });
}

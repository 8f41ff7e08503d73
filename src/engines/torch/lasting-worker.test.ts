/** Workers that end, as simulated processes: what a new one is asked, and what is lost. */
import { expect, it } from "vitest";
import { ServiceError, TroupeError } from "../../errors.ts";
import { failure } from "../../models/test-model.ts";
import { LastingWorker, type WorkerProcess } from "./lasting-worker.ts";
import type { Answer } from "./answers.ts";

type Asked = readonly [verb: string, name: unknown];

/** Each process answers by its own function, until that throws. */
function lastingWorker(...processes: readonly ((...asked: Asked) => void)[]) {
  const heard: Asked[][] = [];
  const start = (): WorkerProcess => {
    const own: Asked[] = [];
    const answer = processes[heard.push(own) - 1];
    return {
      ready: Promise.resolve<Answer>({ header: {}, arrays: {} }),
      memory: null,
      ask: async (verb, header) => {
        const { name, policy } = header as { name?: string; policy?: string };
        const asked = [verb, name ?? policy] as const;
        own.push(asked);
        answer?.(...asked);
        return { header: {}, arrays: {} };
      },
      close: async () => {},
    };
  };
  const notices: string[] = [];
  return { worker: new LastingWorker(start, (notice) => notices.push(notice)), heard, notices };
}

const end = (): never => {
  throw new ServiceError("It ended.");
};

it("a policy that cannot be restored is lost alone, until it is removed", async () => {
  const { worker, heard, notices } = lastingWorker(
    (verb) => verb === "sample" && end(),
    (verb, name) => {
      if (verb === "create" && name === "p") throw new TroupeError("bad_model", "Its base is gone.");
    },
    () => {},
  );
  for (const name of ["p", "q"]) await worker.ask("create", { name });
  await worker.ask("optimStep", { name: "p" });
  await worker.ask("copy", { name: "p", to: "p copy" });
  await worker.ask("sample", { policy: "q" });
  expect(heard[1]).toEqual([
    ["create", "p"],
    ["create", "q"],
    ["sample", "q"],
  ]);
  for (const policy of ["p", "p copy"])
    expect(await failure("service", () => worker.ask("sample", { policy }))).toBe(
      `The policy ${policy} was lost when a worker ended, and another worker cannot have it: Its base is gone.`,
    );
  await worker.ask("remove", { name: "p" });
  await worker.ask("create", { name: "p" }).catch(() => undefined);
  await worker.ask("sample", { policy: "q" });
  expect(heard).toHaveLength(2);
  expect(notices).toEqual(["It ended. Another one is started."]);
});

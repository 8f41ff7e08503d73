/** Policies: their sources, critics, adapters, versions. */
import type { PolicyInfo, PolicyOptions } from "../engine.ts";
import {
  differs,
  equal,
  fails,
  holds,
  outputs,
  request,
  train,
  withPolicy,
  datum,
  adam,
  type Check,
  type Setting,
} from "./setting.ts";

export const separate: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    await engine.createPolicy({ name: "q", model: setting.model });
    const before = await outputs(engine, info);
    equal(await outputs(engine, info, "q"), before, "two policies of one model, untrained");
    await train(engine, info, 2);
    equal(await outputs(engine, info, "q"), before, "a policy after another one of its model was trained");
    differs(await outputs(engine, info), before, "training changes the policy");
    const named = engine.createPolicy({ name: "q", model: setting.model });
    await fails("bad_arguments", () => named, "a name in use");
    await engine.removePolicy("q");
    await fails(
      "bad_arguments",
      () => engine.sample(request(info, { policy: "q" })),
      "a policy that was removed",
    );
    await engine.createPolicy({ name: "q", model: setting.model });
    equal(await outputs(engine, info, "q"), before, "a policy made again under its name");
  });

export const described: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    equal(info.name, "p", "the policy's name");
    const sizes: (keyof PolicyInfo)[] = ["parameters", "trainableParameters", "maxLength", "vocabularySize"];
    for (const size of sizes)
      holds(Number.isSafeInteger(info[size]) && Number(info[size]) > 0, `${size} is a size`);
    equal(info.trainableParameters, info.parameters, "a whole model is trained whole");
    holds(engine.description !== "", "the engine describes itself");
  });

export const adapters: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const { model, adapter } = setting;
    const made = await engine.createPolicy({ name: "a", model, adapter });
    await engine.createPolicy({ name: "b", model, adapter: { ...adapter, seed: adapter.seed + 1 } });
    holds(made.trainableParameters < made.parameters, "of an adapter's policy, only the adapter is trained");
    const before = await outputs(engine, info);
    for (const name of ["a", "b"])
      equal(await outputs(engine, info, name), before, "a fresh adapter changes nothing");
    await train(engine, info, 2, "a");
    differs(await outputs(engine, info, "a"), before, "training changes the adapter");
    for (const name of ["p", "b"])
      equal(await outputs(engine, info, name), before, "others on the same model");
  });

export const critics: Check = (setting) =>
  withPolicy(
    setting,
    async (engine, info) => {
      const { logprobs, values = [] } = await engine.forward([datum(info)]);
      equal(
        logprobs.map(({ length }) => length),
        [0, 0],
        "a critic's log-probabilities",
      );
      equal(
        values.map((each) => [...each]),
        [
          [0, 0, 0],
          [0, 0],
        ],
        "values of a new critic",
      );
      await fails("bad_arguments", () => engine.sample(request(info)), "sampling a critic");
      const losses: number[] = [];
      for (let step = 0; step < 40; step++) {
        losses.push((await engine.forwardBackward([datum(info)], { type: "value" })).loss);
        await engine.optimStep("p", { ...adam, learningRate: 0.02 });
      }
      holds(
        (losses.at(-1) ?? 0) < 0.7 * (losses[0] ?? 0),
        `a critic learns: its loss went ${losses[0]} to ${losses.at(-1)}`,
      );
      const other = () => engine.forwardBackward([datum(info)], { type: "cross_entropy" });
      await fails("bad_arguments", other, "a policy's loss on a critic");
      await engine.createPolicy({ name: "q", model: setting.model });
      const both = await engine.forward([datum(info, 0, "q"), datum(info)]);
      equal(
        both.logprobs.map(({ length }) => length),
        [3, 2, 0, 0],
        "log-probabilities of a policy and a critic",
      );
      equal(
        both.values?.map(({ length }) => length),
        [0, 0, 3, 2],
        "values of a policy and a critic",
      );
      const value = () => engine.forwardBackward([datum(info, 0, "q")], { type: "value" });
      await fails("bad_arguments", value, "a critic's loss on a policy");
    },
    { valueHead: true },
  );

export const copied: Check = (setting) => keepsCopy(setting, {});
export const copiedAdapter: Check = (setting) => keepsCopy(setting, { adapter: setting.adapter });

const keepsCopy = (setting: Setting, options: Omit<PolicyOptions, "name" | "model">): Promise<void> =>
  withPolicy(
    setting,
    async (engine, info) => {
      // A fresh adapter samples like its base.
      await train(engine, info, 1);
      const before = await engine.sample(request(info));
      const copy = await engine.copy?.("p");
      if (copy === undefined) throw new Error("the engine has the capability and no verb copy");
      const trained = train(engine, info, 2);
      equal(await copy.sample(request(info)), before, "samples of the copy beside the training");
      await trained;
      equal(await copy.sample(request(info)), before, "samples of the copy after the training");
      await copy.release();
      equal((await engine.sample(request(info)))[0]?.policyVersion, 3, "the version of the policy itself");
    },
    options,
  );

export const versions: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const version = async (): Promise<readonly number[]> =>
      (await engine.sample(request(info))).map(({ policyVersion }) => policyVersion);
    equal(await version(), [0, 0, 0], "the version of a new policy");
    await train(engine, info, 2);
    equal(await version(), [2, 2, 2], "the version after two steps");
    const first = version();
    const trained = train(engine, info, 1);
    const second = version();
    await trained;
    equal(
      [(await first)[0], (await second)[0]],
      [2, 3],
      "versions of what was submitted before and after a step",
    );
  });

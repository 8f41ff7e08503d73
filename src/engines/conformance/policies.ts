/** Policies: what they say of themselves, copies, critics, adapters, and what is saved of them. */
import { mkdir, rename } from "node:fs/promises";
import path from "node:path";
import type { PolicyInfo, PolicyOptions, Engine, SavedPolicy } from "../engine.ts";
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
  hasNoGradient,
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

let folders = 0;

async function newFolder({ folder }: Setting): Promise<string> {
  folders += 1;
  const made = path.join(folder, `saves-${folders}`);
  await mkdir(made, { recursive: true });
  return made;
}

const throughJson = (saved: SavedPolicy): SavedPolicy => JSON.parse(JSON.stringify(saved)) as SavedPolicy;

async function versionOf(engine: Engine, info: PolicyInfo, policy = "p"): Promise<number | undefined> {
  return (await engine.sample(request(info, { policy, count: 1 })))[0]?.policyVersion;
}

export const resumed: Check = async (setting) => {
  const adapted = await withPolicy(setting, async ({ capabilities }) => capabilities.adapters);
  for (const options of adapted ? [{}, { adapter: setting.adapter }] : [{}]) {
    const folder = await newFolder(setting);
    const { saved, straight } = await withPolicy(
      setting,
      async (engine, info) => {
        await train(engine, info, 2);
        const checkpoint = await engine.checkpoint("p", { folder, name: "p" });
        const losses = await train(engine, info, 2);
        return { saved: checkpoint, straight: { losses, after: await outputs(engine, info) } };
      },
      options,
    );
    equal([saved.kind, saved.version], ["checkpoint", 2], "the kind and version of a checkpoint");
    equal(throughJson(saved), saved, "a reference that went through JSON");
    const moved = `${folder}-moved`;
    await rename(folder, moved);
    await withPolicy(
      setting,
      async (engine, info) => {
        await train(engine, info, 1);
        await engine.restore("p", { saved: throughJson(saved), folder: moved });
        equal(await versionOf(engine, info), 2, "the version after a checkpoint was restored");
        const losses = await train(engine, info, 2);
        equal({ losses, after: await outputs(engine, info) }, straight, "training resumed from a checkpoint");
      },
      options,
    );
  }
};

export const snapshots: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const folder = await newFolder(setting);
    await train(engine, info, 1);
    const before = await outputs(engine, info);
    const saved = await engine.snapshot("p", { folder, name: "p" });
    equal([saved.kind, saved.version], ["snapshot", 1], "the kind and version of a snapshot");
    await train(engine, info, 2);
    differs(await outputs(engine, info), before, "training changes the policy");
    const stored = { saved: throughJson(saved), folder };
    await engine.createPolicy({ name: "from", model: setting.model, from: stored });
    await engine.createPolicy({ name: "of", model: stored });
    for (const name of ["from", "of"]) {
      equal(await outputs(engine, info, name), before, `a policy made from a snapshot (${name})`);
      equal(await versionOf(engine, info, name), 1, "its version");
    }
    await engine.forwardBackward([datum(info)], { type: "cross_entropy" });
    await engine.restore("p", stored);
    equal(await outputs(engine, info), before, "a policy after its snapshot was restored");
    equal(await versionOf(engine, info), 1, "its version");
    await hasNoGradient(engine, "after a snapshot was restored");
    if (engine.capabilities.critic) {
      await engine.createPolicy({ name: "c", model: setting.model, from: stored, valueHead: true });
      const { values } = await engine.forward([datum(info, 0, "c")]);
      equal(
        values?.map((each) => [...each]),
        [
          [0, 0, 0],
          [0, 0],
        ],
        "values of a new critic made from a snapshot",
      );
    }
  });

/** What reinforcement needs after a warm start of a base model. */
export const adaptersOnSaved: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    await train(engine, info, 2);
    const folder = await newFolder(setting);
    const save = async (name: string) => ({ saved: await engine.snapshot(name, { folder, name }), folder });
    const [base, before] = [await save("p"), await outputs(engine, info)];
    const made = await engine.createPolicy({ name: "a", model: base, adapter: setting.adapter });
    holds(made.trainableParameters < made.parameters, "of an adapter on saved weights, only it is trained");
    equal(await outputs(engine, info, "a"), before, "a fresh adapter on saved weights");
    await train(engine, info, 2, "a");
    const [from, after] = [await save("a"), await outputs(engine, info, "a")];
    differs(after, before, "training changes an adapter on saved weights");
    equal(await outputs(engine, info), before, "the policy that the adapter's base was saved from");
    const again = await engine.createPolicy({ name: "b", model: base, from });
    equal(again.trainableParameters, made.trainableParameters, "what is trained of an adapter made again");
    equal(await outputs(engine, info, "b"), after, "an adapter made again on saved weights");
  });

/** A base of the same shape with other weights: the adapter would compute something else there. */
export const adaptersOfBase: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const { model, adapter } = setting;
    const folder = await newFolder(setting);
    await engine.createPolicy({ name: "a", model, adapter });
    await train(engine, info, 2, "a");
    const after = await outputs(engine, info, "a");
    const saved = await engine.checkpoint("a", { folder, name: "a" });
    await train(engine, info, 2);
    const other = { saved: await engine.snapshot("p", { folder, name: "p" }), folder };
    await engine.createPolicy({ name: "b", model: other, adapter });
    const before = await outputs(engine, info, "b");
    const stored = { saved, folder };
    await fails("bad_model", () => engine.restore("b", stored), "an adapter restored on another base");
    const made = () => engine.createPolicy({ name: "c", model: other, from: stored });
    await fails("bad_model", made, "an adapter made on another base");
    equal(await outputs(engine, info, "b"), before, "the policy after that");
    await engine.createPolicy({ name: "c", model, adapter });
    await engine.restore("c", stored);
    equal(await outputs(engine, info, "c"), after, "the adapter restored on its own base");
  });

export const moments: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const folder = await newFolder(setting);
    const saved = await engine.snapshot("p", { folder, name: "p" });
    const moving = train(engine, info, 1);
    const later = engine.snapshot("p", { folder, name: "p" });
    await moving;
    const last = await outputs(engine, info);
    await engine.restore("p", { saved: await later, folder });
    equal(
      await outputs(engine, info),
      last,
      "a snapshot is of the moment it was asked for, and replaces an earlier one",
    );
    equal([saved.version, (await later).version], [0, 1], "versions of the two");
  });

export const missing: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const folder = await newFolder(setting);
    const saved = await engine.snapshot("p", { folder, name: "p" });
    const lost = { saved: { ...saved, location: "lost", directory: null }, folder };
    const before = await outputs(engine, info);
    await fails("bad_model", () => engine.restore("p", lost), "a save that does not exist");
    await fails(
      "bad_model",
      () => engine.createPolicy({ name: "q", model: lost }),
      "a model that does not exist",
    );
    equal(await outputs(engine, info), before, "the policy afterwards");
    await engine.createPolicy({ name: "q", model: setting.model });
  });

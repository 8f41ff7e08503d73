/** Generated files are what their readers expect: bash, KubeRay, Slurm. */
import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { resolveForPlan } from "../../recipes/resolve.ts";
import { planCluster } from "../plan.ts";
import { places, type Layout, type Place } from "./launch.ts";
import { launchOf } from "./start.ts";

const recipe = fileURLToPath(new URL("../../../recipes/cluster/qwen3-1-7b-skyrl.yaml", import.meta.url));
const layout: Omit<Layout, "place"> = {
  nodes: 1,
  gpusPerNode: 8,
  shared: "/shared/troupe runs",
  checkout: "/opt/SkyRL",
  image: "image:1",
};

/** By overrides: the same plan is launched in many places. */
const plans = new Map<string, ReturnType<typeof planCluster>>();

function planOf(overrides: readonly string[]): ReturnType<typeof planCluster> {
  const known = plans.get(overrides.join(" "));
  if (known !== undefined) return known;
  const plan = resolveForPlan(recipe, overrides).then((resolved) => planCluster(resolved, { gpu: "h100" }));
  plans.set(overrides.join(" "), plan);
  return plan;
}

async function launch(place: Place, overrides: readonly string[] = [], more: Partial<Layout> = {}) {
  const plan = await planOf(overrides);
  return { plan, ...launchOf(plan, { ...layout, place, ...more }) };
}

/** Both roles on one server. */
const one = ["engine.servers=null", "policies.scout=null", "team.roles.scout.policy=planner"];
/** Of the four GPUs that training an 8B model takes, two on each node. */
const large = [...one, "policies.planner.model.path=models/Qwen3-8B"];
const twoNodes = { nodes: 2, gpusPerNode: 2 };

/** Adapters of both roles on one server. */
const adapters = [
  "engine.servers=null",
  "policies.scout.adapter.rank=16",
  "policies.scout.adapter.alpha=32",
  "policies.planner.adapter.rank=16",
  "policies.planner.adapter.alpha=32",
];

const isScript = (name: string): boolean => /\.(sh|sbatch)$/.test(name);

describe.each(places)("on %s", (place) => {
  it("starts a server for each role, with scripts that bash reads", async () => {
    const { files, commands } = await launch(place);
    const names = Object.keys(files);
    expect(names).toHaveLength(2);
    for (const name of names) {
      expect(commands.some((command) => command.includes(name))).toBe(true);
      if (isScript(name)) execFileSync("bash", ["-n"], { input: files[name] });
    }
    execFileSync("bash", ["-n"], { input: commands.join("\n") });
    const text = Object.values(files).join("\n");
    for (const port of [8000, 8001]) expect(text).toContain(`--port ${port}`);
    expect(text).toContain("--base-model Qwen/Qwen3-1.7B");
    expect(text.replaceAll(/ \\\n\s*/g, " ")).toContain("skyrl.tinker.api --backend fsdp");
  });

  it("says how to end the servers, which cost until then", async () => {
    const { later } = await launch(place);
    const ends = later.flatMap((line) => /^to stop: (.+)$/.exec(line)?.[1] ?? []);
    expect(ends.length).toBeGreaterThan(0);
    for (const end of ends) execFileSync("bash", ["-n"], { input: end });
  });

  it("rejects more GPUs than there are", async () => {
    await expect(launch(place, [], { gpusPerNode: 1 })).rejects.toThrow(
      "The servers need 2 GPUs, more than 1 × 1.",
    );
  });
});

it.each(places)("on %s, checkpoints, their list and adapters are where all nodes see them", async (place) => {
  const { files } = await launch(place, [...one, "policies.planner.adapter={rank: 16, alpha: 32}"], {
    shared: "/all",
  });
  const [text = ""] = Object.values(files);
  const folder = "/all/cluster-qwen3-1-7b-skyrl";
  expect(text).toContain(`mkdir -p ${folder}`);
  expect(text).toContain(`--checkpoints-base ${folder}`);
  expect(text).toContain(`--database-url sqlite:///${folder}/server.db`);
  expect(text.replaceAll("\\", "")).toContain(`"trainer.policy.model.lora.lora_sync_path":"${folder}/lora"`);
});

it.each(["machine", "slurm"] as const)("on %s, servers of one node have a Ray each", async (place) => {
  for (const text of Object.values((await launch(place)).files)) {
    expect(text).toContain("export RAY_ADDRESS=local\n");
    expect(text).not.toContain("ray start");
  }
});

it.each(["machine", "ray"] as const)("on %s, servers outlive the terminal", async (place) => {
  const { commands, later } = await launch(place);
  const name = "cluster-qwen3-1-7b-skyrl-scout";
  expect(commands.join("\n")).toContain(`nohup bash ${name}.sh > ${name}.log 2>&1 & echo $! > ${name}.pid`);
  expect(later).toContain(`to stop: kill $(cat ${name}.pid)`);
});

it("Slurm's servers live as long as the run, if that takes more than a day", async () => {
  const timeOf = async (...overrides: string[]) =>
    /^#SBATCH --time=(\d+):00:00$/m.exec(
      Object.values((await launch("slurm", overrides)).files)[0] ?? "",
    )?.[1];
  const { plan } = await launch("slurm");
  expect(Number(await timeOf())).toBe(Math.ceil(plan.atMost.hours?.total ?? 0));
  expect(await timeOf("train.steps=2")).toBe("24");
});

it("a Slurm job whose Ray does not start ends", async () => {
  const { files } = await launch("slurm", large, twoNodes);
  const lines = Object.values(files)[0]?.split("\n") ?? [];
  const from = lines.findIndex((line) => line.startsWith("srun --nodes=1"));
  const to = lines.indexOf("done", from);
  const programs =
    "srun() { return 3; }; ray() { return 1; }; head=one; RAY_ADDRESS=one:1; sleep() { command sleep 0.1; }";
  const script = ["set -e", programs, ...lines.slice(from, to + 1)].join("\n");
  const { status, stderr } = spawnSync("bash", { input: script, encoding: "utf8", timeout: 20_000 });
  expect([status, stderr]).toEqual([1, expect.stringContaining("Ray did not start on one")]);
});

it("Slurm's nodes with a Ray cluster are shared with no other job", async () => {
  const { files } = await launch("slurm", large, twoNodes);
  expect(Object.values(files)[0]).toContain("#SBATCH --exclusive\n");
});

it("a Ray job runs where clients find it, and its workers in the checkout", async () => {
  const { files, commands } = await launch("ray-job");
  expect(commands.join("\n")).not.toContain("--entrypoint-num");
  for (const text of Object.values(files)) {
    const [unset, folder] = ["unset RAY_JOB_CONFIG_JSON_ENV_VAR\n", "cd /opt/SkyRL\n"];
    expect(text.indexOf(unset)).toBeGreaterThan(0);
    expect(text.indexOf(folder)).toBeGreaterThan(text.indexOf(unset));
  }
});

it("servers of one machine have GPUs of their own", async () => {
  const { files } = await launch("machine");
  const visible = Object.values(files).map((text) => /CUDA_VISIBLE_DEVICES=(\S+)/.exec(text)?.[1]);
  expect(visible).toEqual(["0", "1"]);
});

it("a RayJob has what KubeRay requires, and clients a Service", async () => {
  const { files } = await launch("kubernetes", one);
  const [first, second] = parseAllDocuments(Object.values(files)[0] ?? "");
  const { metadata, spec } = rayJob.parse(first?.toJS());
  expect(metadata.name).toBe("cluster-qwen3-1-7b-skyrl");
  expect(spec.entrypoint).toContain("skyrl.tinker.api");
  execFileSync("bash", ["-n"], { input: spec.entrypoint });
  const head = spec.rayClusterSpec.headGroupSpec.template;
  const [own] = head.spec.containers;
  expect(own?.image).toBe("image:1");
  expect(own?.resources.limits["nvidia.com/gpu"]).toBe("1");
  expect(head.spec.volumes.map(({ name }) => name)).toEqual(own?.volumeMounts.map(({ name }) => name));
  expect(second?.toJS()).toMatchObject({ kind: "Service", spec: { ports: [{ port: 8000 }] } });
  const service = z.object({ spec: z.object({ selector: texts }) }).parse(second?.toJS());
  expect(head.metadata.labels).toMatchObject(service.spec.selector);
});

/** The fields of KubeRay's API (ray.io/v1) that are used; unknown ones are errors. */
const [string, whole, strict] = [z.string(), z.int(), z.strictObject];
const [named, texts] = [z.object({ name: string }), z.record(string, string)];
const container = strict({
  name: string,
  image: string,
  ports: z.array(strict({ containerPort: whole, name: string })).optional(),
  resources: strict({ limits: texts, requests: texts }),
  volumeMounts: z.array(strict({ name: string, mountPath: string })),
});
const template = strict({
  metadata: z.object({ labels: texts }),
  spec: strict({ containers: z.array(container), volumes: z.array(named) }),
});
const workers = strict({
  groupName: string,
  replicas: whole,
  minReplicas: whole,
  maxReplicas: whole,
  rayStartParams: texts,
  template,
});
const rayClusterSpec = strict({
  rayVersion: string,
  headGroupSpec: strict({ rayStartParams: texts, template }),
  workerGroupSpecs: z.array(workers).optional(),
});
const rayJob = strict({
  apiVersion: z.literal("ray.io/v1"),
  kind: z.literal("RayJob"),
  metadata: named,
  spec: strict({
    entrypoint: string,
    shutdownAfterJobFinishes: z.boolean(),
    ttlSecondsAfterFinished: whole,
    rayClusterSpec,
  }),
});

it("a RayJob of several nodes has workers", async () => {
  const { files } = await launch("kubernetes", large, twoNodes);
  const { spec } = rayJob.parse(parseAllDocuments(Object.values(files)[0] ?? "")[0]?.toJS());
  expect(spec.rayClusterSpec.workerGroupSpecs?.map(({ replicas }) => replicas)).toEqual([1]);
});

it("a pod fetches SkyRL, and has its container", async () => {
  const { files } = await launch("kubernetes", one, { image: undefined });
  const [text = ""] = Object.values(files);
  const { spec } = rayJob.parse(parseAllDocuments(text)[0]?.toJS());
  const fetched =
    /^bash -c "\[ -d \/opt\/SkyRL \] \|\| \{ git clone -q \S+ \/opt\/SkyRL && git .*checkout -q \w+; \};/;
  expect(spec.entrypoint).toMatch(fetched);
  const [own] = spec.rayClusterSpec.headGroupSpec.template.spec.containers;
  expect(own?.image).toMatch(/^novaskyai\/skyrl-train-ray-\S+$/);
});

it("a Slurm job spans nodes", async () => {
  const { files, plan } = await launch("slurm", large, twoNodes);
  const [text = ""] = Object.values(files);
  expect(plan.servers.map(({ size }) => size.gpus)).toEqual([4]);
  expect(text).toContain("#SBATCH --nodes=2");
  expect(text).toContain("#SBATCH --gpus-per-node=2");
  expect(text.indexOf("SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK")).toBeLessThan(text.indexOf("srun"));
  const config = /--backend-config '([^']+)'/.exec(text)?.[1] ?? "";
  expect(JSON.parse(config)).toMatchObject({
    "trainer.placement.policy_num_gpus_per_node": 2,
    "trainer.placement.policy_num_nodes": 2,
    "trainer.placement.colocate_all": true,
  });
});

it("the JAX backend has room for the adapters of a trainer that was killed", async () => {
  const { files } = await launch("machine", ["engine.profile=skyrl-jax", "train.clipNorm=0", ...adapters]);
  const config = /--backend-config '([^']+)'/.exec(Object.values(files)[0] ?? "")?.[1] ?? "";
  expect(JSON.parse(config)).toEqual({ max_lora_adapters: 5, max_lora_rank: 16 });
});

it("quotes what a shell would read", async () => {
  const { files } = await launch("ray", [], { checkout: "/opt/it's; rm" });
  for (const text of Object.values(files)) expect(text).toContain(`cd '/opt/it'\\''s; rm'\n`);
  const pods = await launch("kubernetes", [], { checkout: "/opt/my SkyRL" });
  for (const text of Object.values(pods.files)) expect(text).toContain("cd '/opt/my SkyRL' &&");
});

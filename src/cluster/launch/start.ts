/** The files and commands that start a plan's servers at a place. */
import { command } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import type { ClusterPlan } from "../plan.ts";
import { onKubernetes } from "./kubernetes.ts";
import type { Launch, Layout, Place, PlacedServer } from "./launch.ts";
import { asRayJob, onMachine, onRay, onSlurm } from "./script.ts";

const ways: Readonly<Record<Place, (servers: readonly PlacedServer[]) => Launch>> = {
  machine: onMachine,
  ray: onRay,
  "ray-job": asRayJob,
  kubernetes: onKubernetes,
  slurm: onSlurm,
};

/** @throws TroupeError `bad_arguments` for servers that do not fit, or that cannot run at the place */
export function launchOf(plan: ClusterPlan, layout: Layout): Launch {
  const servers = plan.servers.map((server) => ({ server, layout, hours: plan.atMost.hours?.total ?? 0 }));
  if (servers.length === 0) throw needsNoServers();
  const room = layout.nodes * layout.gpusPerNode;
  if (plan.gpus > room && plan.servers.some(({ kind }) => kind !== "skyrl-jax"))
    throw new TroupeError(
      "bad_arguments",
      `The servers need ${plan.gpus} GPUs, more than ${layout.nodes} × ${layout.gpusPerNode}. Use more nodes (--nodes), GPUs with more memory (--gpu), adapters, or shorter actions (maxTokens).`,
    );
  if (layout.place === "machine" && layout.nodes > 1)
    throw new TroupeError("bad_arguments", "Several nodes need Ray: --on ray, ray-job, kubernetes or slurm.");
  return ways[layout.place](servers);
}

export function needsNoServers(): TroupeError {
  return new TroupeError(
    "bad_arguments",
    `the recipe needs no servers: it trains on this machine, at \`${command("serve")}\`, or at a service; engine.type=tinker and engine.profile choose servers, for example skyrl-fsdp or skyrl-jax`,
  );
}

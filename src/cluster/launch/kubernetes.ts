/** A KubeRay RayJob (ray.io/v1) for each server, and a Service through which clients reach it inside the cluster. */
import { rayVersion, skyrlFetch, skyrlImage, skyrlValues } from "./skyrl.ts";
import { fillTemplate } from "./template.ts";
import { gigabytesPerNode, nodesFor, portOf, type Launch, type PlacedServer } from "./launch.ts";

export function onKubernetes(servers: readonly PlacedServer[]): Launch {
  const files = servers.map((server) => [`${server.server.name}.yaml`, manifest(server)] as const);
  return {
    files: Object.fromEntries(files),
    commands: [
      `kubectl get persistentvolumeclaim ${claim}   # ReadWriteMany, for checkpoints; make it if it is missing`,
      ...files.map(([file]) => `kubectl apply -f ${file}`),
      ...servers.map(({ server }) => {
        const name = resourceName(server.name);
        const forward = `kubectl port-forward service/${name} ${portOf(server)}:${portOf(server)}`;
        // It ends while the pod's image is fetched, and whenever the connection breaks.
        return `(while :; do ${forward}; sleep 5; done) &   # where Troupe runs`;
      }),
    ],
    later: files.map(([file]) => `to stop: kubectl delete -f ${file}`),
  };
}

const claim = "troupe";

function manifest(placed: PlacedServer): string {
  const { server, layout } = placed;
  const { nodes, perNode: gpus } = nodesFor(server.size.gpus, layout);
  return fillTemplate("kuberay.yml.template", {
    name: resourceName(server.name),
    entrypoint: `bash -c "${startLine(placed).replaceAll('"', '\\"')}"`,
    rayVersion,
    image: JSON.stringify(layout.image ?? skyrlImage),
    others: nodes === 1 ? "" : nodes - 1,
    gpus,
    processors: 8 * gpus,
    gigabytes: gigabytesPerNode(server.size, nodes),
    port: portOf(server),
    shared: JSON.stringify(layout.shared),
  });
}

function startLine(placed: PlacedServer): string {
  const { folder, checkout, server } = skyrlValues(placed, "0.0.0.0");
  const fetch = skyrlFetch(placed.layout.checkout);
  return `${fetch}; mkdir -p ${folder} && cd ${checkout} && ${server.replaceAll(/ \\\n\s*/g, " ")}`;
}

/** Names of resources are labels of DNS (RFC 1123). */
function resourceName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, 47)
    .replace(/-+$/, "");
}

/** A KubeRay RayJob (ray.io/v1) for each server, and a Service through which clients reach it inside the cluster. */
import { stringify } from "yaml";
import { rayVersion, skyrlCommand, skyrlFetch, skyrlFolders, skyrlImage } from "./skyrl.ts";
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

function manifest(server: PlacedServer): string {
  const name = resourceName(server.server.name);
  const port = Number(portOf(server.server));
  return [rayJob(server, name), service(name, port)]
    .map((each) => stringify(each, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join("---\n");
}

function rayJob(server: PlacedServer, name: string) {
  const { size } = server.server;
  const { nodes, perNode: gpus } = nodesFor(size.gpus, server.layout);
  const gigabytes = gigabytesPerNode(size, nodes);
  const pod = (role: string) => podTemplate({ name, role, gpus, gigabytes, server });
  return {
    apiVersion: "ray.io/v1",
    kind: "RayJob",
    metadata: { name },
    spec: {
      // Pods of the cluster can reach the server; it checks no keys, so no one else must.
      entrypoint: `bash -c "${startLine(server).replaceAll('"', '\\"')}"`,
      shutdownAfterJobFinishes: true,
      ttlSecondsAfterFinished: 600,
      rayClusterSpec: {
        rayVersion,
        headGroupSpec: { rayStartParams: { "dashboard-host": "0.0.0.0" }, template: pod("head") },
        ...(nodes === 1
          ? {}
          : {
              workerGroupSpecs: [
                {
                  groupName: "workers",
                  replicas: nodes - 1,
                  minReplicas: nodes - 1,
                  maxReplicas: nodes - 1,
                  rayStartParams: {},
                  template: pod("worker"),
                },
              ],
            }),
      },
    },
  };
}

function startLine(server: PlacedServer): string {
  const command = skyrlCommand(server, "0.0.0.0").replaceAll(/ \\\n\s*/g, " ");
  return `${skyrlFetch(server.layout.checkout)}; ${[...skyrlFolders(server), command].join(" && ")}`;
}

interface Pod {
  readonly name: string;
  readonly role: string;
  readonly gpus: number;
  readonly gigabytes: number;
  readonly server: PlacedServer;
}

function podTemplate({ name, role, gpus, gigabytes, server: { layout, server } }: Pod) {
  const resources = { cpu: String(8 * gpus), memory: `${gigabytes}G`, "nvidia.com/gpu": String(gpus) };
  return {
    metadata: { labels: { troupe: name, "troupe-role": role } },
    spec: {
      containers: [
        {
          name: `ray-${role}`,
          image: layout.image ?? skyrlImage,
          ...(role === "head" ? { ports: [{ containerPort: Number(portOf(server)), name: "tinker" }] } : {}),
          resources: { limits: resources, requests: resources },
          volumeMounts: [
            { name: "shared", mountPath: layout.shared },
            { name: "memory", mountPath: "/dev/shm" },
          ],
        },
      ],
      volumes: [
        { name: "shared", persistentVolumeClaim: { claimName: claim } },
        { name: "memory", emptyDir: { medium: "Memory" } },
      ],
    },
  };
}

function service(name: string, port: number) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: {
      selector: { troupe: name, "troupe-role": "head" },
      ports: [{ name: "tinker", port, targetPort: port }],
    },
  };
}

/** Names of resources are labels of DNS (RFC 1123). */
function resourceName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, 47)
    .replace(/-+$/, "");
}

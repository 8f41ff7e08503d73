/** The table of requests, and which of its handlers answers one. */
import type { z } from "zod";
import { command } from "../../../command-line.ts";
import * as schema from "../protocol/schema.ts";
import { Rejection, jsonOf, type Call } from "./call.ts";
import * as information from "./information.ts";

import * as sampling from "./sampling.ts";
import type { Service } from "./service.ts";
import * as training from "./training.ts";

/** Bytes are sent as protobuf, a stream as an archive, anything else as JSON. */
type Handler = (service: Service, call: Call, found: readonly string[]) => unknown;

interface Route {
  /** Or "any". */
  readonly method: string;
  /** For people. */
  readonly name: string;
  readonly path: RegExp;
  readonly handle: Handler;
}

const posts: Readonly<Record<string, Handler>> = {
  "client/config": information.clientConfig,
  "client/dynamic_config": information.dynamicConfig,
  create_session: information.createSession,
  session_heartbeat: information.heartbeat,
  create_model: training.createModel,
  get_info: information.modelInfo,
  unload_model: training.unloadModel,
  forward_backward: (service, call) => training.forwardBackward(service, call, false),
  forward: (service, call) => training.forwardBackward(service, call, true),
  optim_step: training.optimStep,
  save_weights: training.saveWeights,
  save_weights_for_sampler: training.saveWeightsForSampler,
  load_weights: training.loadWeights,
  create_sampling_session: sampling.createSamplingSession,
  join_sampling_session: sampling.joinSamplingSession,
  asample: sampling.sample,
  cancel_future: sampling.cancelFuture,
  retrieve_future: retrieveFuture,
  retrieve_futures: sampling.retrieveFutures,
  weights_info: information.weightsInfo,
  telemetry: () => ({ status: "accepted" }),
};

/** Of the hosted service, and without a meaning on one machine. */
const unsupported = {
  "accounts: keys have no names, roles or usage": "auth/token|audit|billing/.*",
  "projects, and copies of weights: all runs of a key are in one place": "sessions/:/project|copy_weights",
  "search in sessions; list them": "sessions/search",
  "traces of sessions; the client can measure its own requests": "sessions/:/trace_export",
  "external weights; download `/archive` of a checkpoint, a tar":
    "save_weights_external|.*/external_weights.*",
  "custom losses on the server; compute them in the client from log-probabilities": "create_custom_loss",
};

/** `:` stands for any part, which the handler gets. */
function route(method: string, path: string, handle: Handler): Route {
  return {
    method,
    name: path.replaceAll("/:", ""),
    path: new RegExp(`^(?:${path.replaceAll(":", "([^/]+)")})$`),
    handle,
  };
}

const checkpoint = "training_runs/:/checkpoints/:/:";

const routes: readonly Route[] = [
  ...Object.entries(posts).map(([name, handle]) => route("POST", name, handle)),
  route("GET", "healthz", () => ({ status: "ok" })),
  route("GET", "get_server_capabilities", information.capabilities),
  route("GET", "sessions", information.sessions),
  route("GET", "sessions/:", information.sessionInfo),
  route("POST", "sessions/:/finish", information.finishSession),
  route("GET", "samplers/:", information.samplerInfo),
  route("GET", "checkpoints", information.allCheckpoints),
  route("GET", "training_runs", information.trainingRuns),
  route("GET", "training_runs/:", information.trainingRun),
  route("GET", "training_runs/:/checkpoints", information.checkpoints),
  route("GET", `${checkpoint}/archive`, information.archive),
  route("POST", `${checkpoint}/publish`, information.publish),
  route("DELETE", `${checkpoint}/publish`, information.unpublish),
  route("PUT", `${checkpoint}/ttl`, information.setLifetime),
  route("DELETE", checkpoint, information.deleteCheckpoint),
  ...Object.entries(unsupported).map(([what, paths]) =>
    route("any", paths, () => {
      throw new Rejection(422, `\`${command("serve")}\` has no ${what}.`);
    }),
  ),
];

/** @throws Rejection 404 */
export function answer(service: Service, method: string, call: Call): unknown {
  for (const { method: own, path, name, handle } of routes) {
    const found = own === method || own === "any" ? path.exec(call.path) : null;
    if (found === null) continue;
    const answered = handle(service, call, found.slice(1).map(decodeURIComponent));
    service.activity.answered(name);
    return answered;
  }
  throw new Rejection(404, `There is no ${method} ${call.path}.`);
}

async function retrieveFuture(service: Service, call: Call): Promise<unknown> {
  const { request_id: id } = schema.retrieveFuture.parse(jsonOf(call));
  const result = await service.futures.retrieve(id, call.owner, service.options.limits.pollMilliseconds);
  if (result === null)
    throw new Rejection(408, "Not finished.", {
      type: "try_again",
      request_id: id,
      queue_state: "active",
      queue_state_reason: `${service.futures.pendingOf(call.owner)} requests are unfinished`,
    } satisfies z.input<typeof schema.tryAgain>);
  return call.wantsProto && result.proto !== undefined ? result.proto() : result.json();
}

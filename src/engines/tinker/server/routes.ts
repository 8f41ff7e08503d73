/** The table of requests. */
import * as schema from "../protocol/schema.ts";
import * as information from "./information.ts";
import { Rejection } from "./problems.ts";
import * as sampling from "./sampling.ts";
import type { Call, Service } from "./service.ts";
import * as training from "./training.ts";
import type { z } from "zod";

/** Bytes are sent as protobuf, a stream as an archive, anything else as JSON. */
type Handler = (service: Service, call: Call, found: readonly string[]) => unknown;

interface Route {
  readonly method: "GET" | "POST" | "DELETE";
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

const one = "([^/]+)";

const routes: readonly Route[] = [
  ...Object.entries(posts).map(([name, handle]): Route => ({
    method: "POST",
    path: new RegExp(`^${name}$`),
    handle,
  })),
  { method: "GET", path: /^healthz$/, handle: () => ({ status: "ok" }) },
  { method: "GET", path: /^get_server_capabilities$/, handle: information.capabilities },
  { method: "POST", path: new RegExp(`^sessions/${one}/finish$`), handle: information.finishSession },
  { method: "GET", path: new RegExp(`^samplers/${one}$`), handle: information.samplerInfo },
  { method: "GET", path: new RegExp(`^training_runs/${one}/checkpoints$`), handle: information.checkpoints },
  {
    method: "GET",
    path: new RegExp(`^training_runs/${one}/checkpoints/${one}/${one}/archive$`),
    handle: information.archive,
  },
  {
    method: "DELETE",
    path: new RegExp(`^training_runs/${one}/checkpoints/${one}/${one}$`),
    handle: information.deleteCheckpoint,
  },
];

/** @throws Rejection 404 */
export function answer(service: Service, method: string, call: Call): unknown {
  for (const { method: own, path, handle } of routes) {
    const found = own === method ? path.exec(call.path) : null;
    if (found !== null) return handle(service, call, found.slice(1).map(decodeURIComponent));
  }
  throw new Rejection(404, `There is no ${method} ${call.path}.`);
}

async function retrieveFuture(service: Service, call: Call): Promise<unknown> {
  const { request_id: id } = schema.retrieveFuture.parse(training.jsonOf(call));
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

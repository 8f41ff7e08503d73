/** What the person who runs a server reads, and how it ends. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, vi } from "vitest";
import { Activity, type ServerEvent } from "../../../calls/activity.ts";
import { createModel, ownServers, resultOf } from "../testing/own-server.ts";

const { engine, servers, start, stop, open } = await ownServers();

it("requests are counted by kind, those that fail or are rejected too", async () => {
  const events: ServerEvent[] = [];
  const { ask, run } = await open({ log: (event) => events.push(event) });
  for (let time = 0; time < 3; time++) await run("forward_backward");
  await run("save_weights", { path: "../a" });
  await ask("nothing", {});
  await ask("training_runs/secret/checkpoints");
  await stop();
  expect(events).toEqual([
    {
      event: "requests",
      requests: {
        create_session: 1,
        create_model: 1,
        forward_backward: 3,
        save_weights: 1,
        "training_runs/checkpoints": 1,
      },
      rejected: { 404: 1 },
      failed: 1,
      lastFailure: expect.stringContaining("The name of the weights") as string,
      sessions: 1,
      models: 1,
      unfinished: 0,
    },
  ]);
});

it("idle clients are no activity", () => {
  const events: ServerEvent[] = [];
  const state = { sessions: 1, models: 1, unfinished: 0 };
  const activity = new Activity(
    (event) => events.push(event),
    () => state,
  );
  for (const kind of ["session_heartbeat", "healthz", "retrieve_futures"]) activity.answered(kind);
  activity.report();
  expect(events).toEqual([]);
  activity.answered("asample");
  activity.report();
  activity.report();
  expect(events).toMatchObject([{ requests: { asample: 1 }, ...state }]);
});

it("the same failure of the server is told once a minute", async () => {
  const events: ServerEvent[] = [];
  const ask = await start({ log: (event) => events.push(event) });
  const broken = new Error("broken");
  vi.spyOn(engine, "createPolicy").mockRejectedValue(broken);
  for (let time = 0; time < 3; time++) await createModel(ask);
  const failures = events.filter(({ event }) => event === "failure");
  expect(failures).toEqual([{ event: "failure", error: broken.stack }]);
});

it("of a server's failures, ten a minute are told", () => {
  const events: ServerEvent[] = [];
  const activity = new Activity(
    (event) => events.push(event),
    () => ({ sessions: 0, models: 0, unfinished: 0 }),
  );
  const fail = (): void => {
    for (let number = 0; number < 20; number++) activity.failure(`failure ${number}`);
  };
  fail();
  expect(events).toHaveLength(10);
  activity.report();
  fail();
  expect(events).toHaveLength(20);
});

it("a client that goes away in the middle of a request is no failure of the server", async () => {
  const events: ServerEvent[] = [];
  const ask = await start({ log: (event) => events.push(event) });
  const { port, hostname } = new URL(servers[0]?.url ?? "");
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(`POST /api/v1/create_session HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 100\r\n\r\n{`);
  await ask("healthz");
  socket.destroy();
  await once(socket, "close");
  await ask("healthz");
  await stop();
  expect(events).toEqual([]);
});

it("at its end a server finishes what was asked for, and rejects the rest", async () => {
  const { ask, id } = await open();
  const gate = Promise.withResolvers<void>();
  const checkpoint = engine.checkpoint.bind(engine);
  vi.spyOn(engine, "checkpoint").mockImplementation(async (...given) => {
    await gate.promise;
    return checkpoint(...given);
  });
  const save = resultOf(ask, "save_weights", { model_id: id, seq_id: 1, path: "a" });
  const early = await ask("optim_step", { model_id: id, seq_id: 3 });
  await vi.waitFor(() => expect(servers[0]?.state()).toEqual({ models: 1, unfinished: 2 }));
  const drained = servers[0]?.drain();
  const failed = await ask("retrieve_future", early.json);
  expect(failed.json["error"]).toContain("was not executed: the server is being stopped");
  const late = await ask("optim_step", { model_id: id, seq_id: 2 });
  expect([late.status, late.json["detail"]]).toEqual([503, "The server is being stopped."]);
  gate.resolve();
  expect((await save).json["path"]).toBe(`tinker://${id}/weights/a`);
  await drained;
});

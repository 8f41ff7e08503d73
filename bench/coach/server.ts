/**
 * A coach without a model: an OpenAI-compatible endpoint that scores steps of `word-problems` by rules, with noise, and fails as
 * services do.
 *
 *     node bench/coach/server.ts [port]
 *
 * The model's name chooses the coach: `fair`, `biased` or `gamed`. A tenth of all requests fails: status 500, a page
 * instead of JSON, or an answer that breaks off. Which ones depends on the question and on how often it was asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { modes, scoreOf, uniforms, type Mode } from "./opinion.ts";
import { requestSchema, workIn } from "./question.ts";
import { atFault, type Work } from "./rules.ts";

const failing = 0.1;
const longestRequest = 1_000_000;

/** How often each question was asked. */
const asked = new Map<string, number>();

export interface Answer {
  readonly status: number;
  readonly type: "application/json" | "text/html";
  readonly body: string;
}

/** @param body of a request to /v1/chat/completions */
export function answerTo(body: string): Answer {
  const parsed = requestSchema.safeParse(jsonIn(body));
  if (!parsed.success) return problem(400, "this is no chat completion request");
  const { model, messages } = parsed.data;
  const mode = modes.find((one) => one === model);
  if (mode === undefined) return problem(404, `there is no model ${model}; there are ${modes.join(", ")}`);
  const prompt = messages.at(-1)?.content ?? "";
  const work = workIn(prompt);
  if (work === null) return problem(400, "this prompt does not show a step of word-problems");
  const times = asked.get(prompt) ?? 0;
  asked.set(prompt, times + 1);
  const verdict = JSON.stringify(verdictOn(mode, work));
  const [chance, kind] = uniforms(JSON.stringify([mode, prompt, times]));
  if (chance >= failing) return completion(model, verdict, prompt);
  return failureOf(kind, model, verdict, prompt);
}

function verdictOn(mode: Mode, work: Work): object {
  const blame = atFault(work);
  const reason = blame === "none" ? "nothing is wrong" : `the first mistake is by ${blame}`;
  return { reason, blame, score: scoreOf(mode, work) };
}

function failureOf(kind: number, model: string, verdict: string, prompt: string): Answer {
  if (kind < 1 / 3) return problem(500, "overloaded");
  if (kind < 2 / 3) return { status: 200, type: "text/html", body: "<html><h1>Bad gateway</h1></html>" };
  return completion(model, verdict.slice(0, verdict.length / 2), prompt);
}

function completion(model: string, content: string, prompt: string): Answer {
  const [asking, answering] = [prompt, content].map((text) => Math.ceil(text.length / 4)) as [number, number];
  const usage = {
    prompt_tokens: asking,
    completion_tokens: answering,
    total_tokens: asking + answering,
  };
  const message = { role: "assistant", content };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return json(200, { id: "coach", object: "chat.completion", created: 0, model, choices, usage });
}

function problem(status: number, message: string): Answer {
  return json(status, { error: { message, type: "error", code: null } });
}

function json(status: number, value: object): Answer {
  return { status, type: "application/json", body: JSON.stringify(value) };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) {
    body += chunk as string;
    if (body.length > longestRequest) return "";
  }
  return body;
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request);
  const known = request.method === "POST" && request.url === "/v1/chat/completions";
  const answer = known ? answerTo(body) : problem(404, "there is only POST /v1/chat/completions");
  response.writeHead(answer.status, { "content-type": answer.type }).end(answer.body);
}

if (import.meta.main) {
  const port = Number(process.argv[2] ?? 8765);
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/v1`));
}

/** An OpenAI-compatible endpoint for tests: gives scripted answers and records the requests. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CoachQuestion {
  readonly system: string;
  readonly user: string;
  /** The whole request. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly authorization: string | undefined;
}

/** Text is the answer; a function writes the response itself. */
export type CoachAnswer = string | object | ((response: ServerResponse) => void);

export interface CoachServer extends AsyncDisposable {
  readonly address: string;
  readonly asked: CoachQuestion[];
  /** From 0. */
  answer: (question: CoachQuestion, number: number) => CoachAnswer | Promise<CoachAnswer>;
}

export async function coachServer(answer: CoachServer["answer"]): Promise<CoachServer> {
  const asked: CoachQuestion[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const question = questionIn(await textOf(request), request.headers.authorization);
      asked.push(question);
      const given = await coach.answer(question, asked.length - 1);
      if (typeof given === "function") given(response);
      else completion(response, typeof given === "string" ? given : JSON.stringify(given));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const coach: CoachServer = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return coach;
}

async function textOf(parts: AsyncIterable<unknown>): Promise<string> {
  let text = "";
  for await (const part of parts) text += String(part);
  return text;
}

function questionIn(text: string, authorization: string | undefined): CoachQuestion {
  const body = JSON.parse(text) as { messages: { role: string; content: string }[] };
  const of = (wanted: string) => body.messages.find(({ role }) => role === wanted)?.content ?? "";
  return { system: of("system"), user: of("user"), body: { ...body }, authorization };
}

/** A complete answer, which by default used 1,000 and 100 tokens. */
export function completion(
  response: ServerResponse,
  content: string,
  finish = "stop",
  usage: object | null = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
): void {
  json(response, 200, {
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "coach",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: finish }],
    ...(usage === null ? {} : { usage }),
  });
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** What an agent wrote in the step in question; several alternatives by label. */
export function writtenIn({ user }: Pick<CoachQuestion, "user">): string {
  return alternativesIn({ user })[0] ?? "";
}

export function alternativesIn({ user }: Pick<CoachQuestion, "user">): string[] {
  const parts = partsOf(user);
  return parts.flatMap(({ name, text }, index) =>
    name === "written" && /^(Alternative \d+\. )?What \S+ wrote/m.test(parts[index - 1]?.text ?? "")
      ? [text]
      : [],
  );
}

/** The texts quoted under a name, in order. */
export function quotedIn(user: string, wanted: string): string[] {
  return partsOf(user).flatMap(({ name, text }) => (name === wanted ? [text] : []));
}

interface Part {
  /** Of a quotation; null: the frame's own words. */
  readonly name: string | null;
  readonly text: string;
}

/** As a careful reader takes a prompt apart: what is between marks belongs to the quotation, whatever it looks like. */
export function partsOf(user: string): Part[] {
  const parts: Part[] = [];
  const pattern = /<([a-z ]+) ([0-9a-f]{12})>\n([^]*?)\n<\/\1 \2>/y;
  for (let at = 0, frame = ""; at <= user.length;) {
    pattern.lastIndex = at;
    const found = pattern.exec(user);
    if (found === null && at < user.length) {
      frame += user[at];
      at += 1;
      continue;
    }
    parts.push({ name: null, text: frame });
    frame = "";
    if (found === null) break;
    parts.push({ name: found[1] ?? "", text: found[3] ?? "" });
    at = pattern.lastIndex;
  }
  return parts;
}

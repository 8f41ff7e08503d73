/** Asks a script that parses what models wrote. */
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { sessionsOfProgram, withSessions } from "../grading/turns.ts";
import { type Server, withServer } from "../servers.ts";

/** Wall-clock time; the machine may be busy. */
const mostSeconds = 60;

/**
 * @param source answers each line of standard input with one line
 * @returns null: the text crashes Python's parser, or takes too long
 * @throws ServiceError if the sandbox fails
 */
export function ask(
  sandbox: Sandbox,
  source: string,
  request: string,
  signal?: AbortSignal,
): Promise<string | null> {
  return withSessions(sandbox, sessionsOfProgram, () =>
    withServer(sandbox, source, signal, (server) => answerOf(server, request)),
  );
}

async function answerOf(server: Server, request: string): Promise<string | null> {
  server.send(request);
  const deadline = setTimeout(server.kill, mostSeconds * 1000);
  try {
    return await server.next();
  } finally {
    clearTimeout(deadline);
  }
}

/**
 * An agent opens a box and says what is in it: a graph of LangGraph with a tool. An ordinary program: it knows nothing of
 * training, and asks whatever answers at the URL in its environment.
 */
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

interface Task {
  /** The one that is asked for. */
  readonly box: string;
  readonly boxes: Readonly<Record<string, string>>;
}

const { box: asked, boxes } = JSON.parse(process.env["TROUPE_TASK"] ?? "{}") as Task;

const open = tool(({ box }) => boxes[box] ?? "nothing", {
  name: "open",
  description: "What is in a box.",
  schema: z.object({ box: z.string() }),
});

const model = new ChatOpenAI({
  model: "finder",
  apiKey: process.env["OPENAI_API_KEY"] ?? "",
  configuration: { baseURL: process.env["OPENAI_BASE_URL"] },
}).bindTools([open]);

type State = typeof MessagesAnnotation.State;

/** A box may be opened once. */
function next({ messages }: State): "tools" | typeof END {
  const [, reply, ...more] = messages;
  return more.length === 0 && AIMessage.isInstance(reply) && reply.tool_calls?.length ? "tools" : END;
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode("finder", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode("tools", new ToolNode([open]))
  .addEdge(START, "finder")
  .addConditionalEdges("finder", next)
  .addEdge("tools", "finder")
  .compile();

const question = new HumanMessage(`what is in the ${asked} box`);
const { messages } = await graph.invoke({ messages: [question] });
const [, , seen, answer] = messages.map((message) => message.text.trim());
const isFound = seen === boxes[asked];

// The last line is the reward: for looking, for saying what was seen, for looking into the right box.
console.log(answer === undefined ? 0 : answer !== seen ? 0.2 : isFound ? 1 : 0.5);

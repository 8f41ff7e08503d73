/**
 * The writer and the critic of examples/agents-ai-sdk with the OpenAI Agents SDK: they look for the opposite of a word.
 * Nothing here knows of training.
 */
import {
  Agent,
  assistant,
  ModelBehaviorError,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  user,
  type AgentInputItem,
} from "@openai/agents";

interface Task {
  readonly word: string;
  readonly opposite: string;
}

const { word, opposite } = JSON.parse(process.env["TROUPE_TASK"] ?? "{}") as Task;
setTracingDisabled(true);

function agent(role: string): (conversation: AgentInputItem[]) => Promise<string> {
  const modelProvider = new OpenAIProvider({
    baseURL: process.env[`OPENAI_BASE_URL_${role.toUpperCase()}`] ?? "",
    apiKey: process.env[`OPENAI_API_KEY_${role.toUpperCase()}`] ?? "",
    useResponses: false,
  });
  const runner = new Runner({ modelProvider });
  const member = new Agent({ name: role, model: role });
  return async (conversation) => {
    try {
      const { finalOutput } = await runner.run(member, conversation);
      return (finalOutput ?? "").trim();
    } catch (error) {
      // This SDK rejects a reply without text; here it is a bad answer like any other.
      if (error instanceof ModelBehaviorError) return "";
      throw error;
    }
  };
}

const [writer, critic] = [agent("writer"), agent("critic")];
const conversation = [user(`opposite of ${word}`)];

const first = await writer(conversation);
const verdict = await critic([user(`is ${first} the opposite of ${word}`)]);
let score = first === opposite ? 1 : 0;

if (verdict === "no") {
  const second = await writer([...conversation, assistant(first), user("no , another")]);
  score = second === opposite ? 0.6 : 0;
}

// The last line is the reward.
console.log(score);

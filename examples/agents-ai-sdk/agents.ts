/**
 * A writer and a critic look for the opposite of a word. An ordinary program with the AI SDK: it knows nothing of
 * training, and asks whatever answers at the URLs in its environment.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, type ModelMessage } from "ai";

interface Task {
  readonly word: string;
  readonly opposite: string;
}

const { word, opposite } = JSON.parse(process.env["TROUPE_TASK"] ?? "{}") as Task;

function agent(role: string): (messages: ModelMessage[]) => Promise<string> {
  const provider = createOpenAICompatible({
    name: role,
    baseURL: process.env[`OPENAI_BASE_URL_${role.toUpperCase()}`] ?? "",
    apiKey: process.env[`OPENAI_API_KEY_${role.toUpperCase()}`] ?? "",
  });
  return async (messages) => {
    const { text } = await generateText({ model: provider(role), messages });
    return text.trim();
  };
}

const [writer, critic] = [agent("writer"), agent("critic")];
const conversation: ModelMessage[] = [{ role: "user", content: `opposite of ${word}` }];

const first = await writer(conversation);
const verdict = await critic([{ role: "user", content: `is ${first} the opposite of ${word}` }]);
let score = first === opposite ? 1 : 0;

if (verdict === "no") {
  conversation.push({ role: "assistant", content: first }, { role: "user", content: "no , another" });
  const second = await writer(conversation);
  score = second === opposite ? 0.6 : 0;
}

// The last line is the reward.
console.log(score);

/**
 * Trains an adapter for three steps through the Tinker protocol, without a recipe: even tokens are rewarded. It needs a server
 * with the model `nano`, such as `troupe serve models/nano`.
 */
import { profiles, TinkerEngine } from "troupe/tinker";

const url = process.env["TINKER_BASE_URL"] ?? "http://127.0.0.1:8000";
const key = process.env["TINKER_API_KEY"];
const engine = new TinkerEngine({ url, key, profile: profiles.troupe });
const adapter = { rank: 8, alpha: 32, targetModules: ["q_proj", "v_proj", "up_proj"], seed: 1 };
await engine.createPolicy({ name: "writer", model: "nano", adapter });

const prompt = Int32Array.of(1, 2, 3);
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
for (let step = 1; step <= 3; step++) {
  const asked = { policy: "writer", prompt, count: 16, maxTokens: 8, temperature: 1, seed: step };
  const samples = await engine.sample(asked);
  const rewards = samples.map(({ tokens }) => tokens.filter((id) => id % 2 === 0).length / tokens.length);
  const mean = rewards.reduce((sum, reward) => sum + reward) / rewards.length;
  const continuations = samples.map(({ tokens, logprobs }, index) => {
    const advantage = (rewards[index] ?? mean) - mean;
    return { tokens, logprobs, advantages: new Float32Array(tokens.length).fill(advantage) };
  });
  const data = [{ policy: "writer", prompt, continuations }];
  // Both are submitted before either is finished.
  const gradients = engine.forwardBackward(data, { type: "importance_sampling" });
  const [{ tokens }] = await Promise.all([gradients, engine.optimStep("writer", adam)]);
  console.log(step, tokens, mean);
}
const { location } = await engine.checkpoint("writer", { folder: ".", name: "writer" });
console.log(location);
await engine.close();

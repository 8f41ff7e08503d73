/** `code` with another reward: brief replies earn a tenth more. */
import { builtInCatalog, type EnvironmentDefinition } from "troupe";

const code = builtInCatalog.environments["code"] as EnvironmentDefinition<unknown>;

export default {
  ...code,
  name: "brief-code",
  async create(options) {
    const environment = await code.create(options);
    return {
      ...environment,
      name: "brief-code",
      async step(state, replies, context) {
        const result = await environment.step(state, replies, context);
        const rewards = Object.entries(result.rewards).map(([seat, reward]) => {
          const local = (replies[seat]?.text.length ?? 0) < 200 ? 0.1 : 0;
          return [seat, reward && { ...reward, local, parts: { brief: local } }];
        });
        return { ...result, rewards: Object.fromEntries(rewards) };
      },
    };
  },
} satisfies EnvironmentDefinition<unknown>;

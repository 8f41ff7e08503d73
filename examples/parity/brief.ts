/** A judge: shorter replies are better. */
import type { ConfiguredJudge } from "troupe";

const brief: ConfiguredJudge = {
  fills: "all",
  as: "team",
  evaluation: false,
  open: () => ({
    judge: async (_, asked) =>
      asked.map(({ node, action }) => {
        const score = 1 / (1 + action.reply.text.length);
        return { node: node.id, action: action.id, verdict: { score } };
      }),
    settle: async () => {},
    close: async () => {},
  }),
};
export default brief;

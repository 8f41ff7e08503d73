/** Customers, orders and advertisements. */
import { binary, logistic, rows, softmax, type TaskRules } from "./build.ts";

const praise = ["quick", "friendly", "perfect", "recommend", "great", "lovely"];
const blame = ["late", "broken", "rude", "refund", "disappointing", "never"];
const plain = ["the", "parcel", "shop", "order", "was", "and", "staff", "item", "price", "again"];

export const customerTasks: readonly TaskRules[] = [
  {
    id: "subscription-churn",
    title: "Subscription churn",
    description:
      "Predict whether a customer cancels within three months. `support_calls` is empty where the customer never called. Monthly contracts are cancelled more often.",
    type: "classification",
    metric: "auc",
    split: "train",
    idColumn: "customer_id",
    target: "churned",
    classes: ["0", "1"],
    rows,
    make: (draw) => {
      const contract = draw.pick(["month", "month", "year", "two years"]);
      const months = draw.int(1, 60);
      const calls = draw.chance(0.4) ? 0 : draw.int(1, 9);
      const fee = draw.uniform(10, 90);
      const value = -1.2 + (contract === "month" ? 1.6 : 0) - 0.05 * months + 0.4 * calls + 0.02 * fee;
      const features = {
        contract,
        months,
        monthly_fee: fee.toFixed(2),
        support_calls: calls === 0 ? "" : calls,
      };
      return { features, probabilities: binary(value) };
    },
    missing: { monthly_fee: 0.08 },
  },
  {
    id: "order-returned",
    title: "Returned orders",
    description:
      "Predict whether an order is sent back. `refund_amount` is filled in when a return has been processed; it is not known when an order is placed, and not in the test table's rows.",
    type: "classification",
    metric: "f1",
    split: "train",
    idColumn: "order",
    target: "returned",
    classes: ["no", "yes"],
    rows,
    make: (draw) => {
      const category = draw.pick(["shoes", "dresses", "books", "toys", "lamps"]);
      const price = Math.exp(draw.normal(3.3, 0.7));
      const sizes = category === "shoes" || category === "dresses" ? draw.int(1, 4) : 1;
      const value = -3.2 + 1.3 * (sizes - 1) + 0.02 * price + (category === "dresses" ? 1 : 0);
      return {
        features: { category, price: price.toFixed(2), sizes_ordered: sizes },
        probabilities: binary(value),
      };
    },
    leak: (label, isTest, draw) => ({
      refund_amount: label === "yes" && !isTest ? draw.uniform(5, 80).toFixed(2) : "",
    }),
  },
  {
    id: "review-sentiment",
    title: "Reviews",
    description:
      "Predict from a short review whether the customer was content. The number of stars is hidden.",
    type: "classification",
    metric: "accuracy",
    split: "train",
    idColumn: "review_id",
    target: "content",
    classes: ["no", "yes"],
    rows,
    make: (draw) => {
      const mood = draw.normal();
      const words = Array.from({ length: draw.int(6, 14) }, () => {
        if (!draw.chance(0.35)) return draw.pick(plain);
        return draw.pick(draw.chance(logistic(2 * mood)) ? praise : blame);
      });
      const good = words.filter((word) => praise.includes(word)).length;
      const bad = words.filter((word) => blame.includes(word)).length;
      const text = words.join(" ");
      return {
        features: { review: `${text}${draw.chance(0.2) ? ", really!" : "."}` },
        probabilities: binary(1.4 * (good - bad)),
      };
    },
  },
  {
    id: "support-priority",
    title: "Priority of support tickets",
    description:
      "Predict the priority that an engineer gave a ticket, from its text, the plan of the customer and the hour.",
    type: "classification",
    metric: "weighted-f1",
    split: "validation",
    idColumn: "ticket",
    target: "priority",
    classes: ["high", "low", "normal"],
    rows,
    make: (draw) => {
      const topics = { outage: 2.2, password: -1.2, invoice: -0.4, slow: 0.6, question: -1.6, crash: 1.7 };
      const topic = draw.pick(Object.keys(topics) as (keyof typeof topics)[]);
      const plan = draw.pick(["free", "team", "enterprise"]);
      const hour = draw.int(0, 23);
      const heat =
        topics[topic] + (plan === "enterprise" ? 0.9 : plan === "free" ? -0.6 : 0) + (hour < 6 ? 0.5 : 0);
      const filler = [draw.pick(plain), draw.pick(plain), draw.pick(plain)].join(" ");
      const features = { text: `${topic} ${filler}`, plan, opened_hour: hour };
      return { features, probabilities: softmax([2.2 * heat, -2.2 * heat, 0.5]) };
    },
    missing: { plan: 0.1 },
  },
  {
    id: "advert-clicks",
    title: "Clicks on advertisements",
    description: "Predict the probability that an advertisement is clicked. Most are not.",
    type: "classification",
    metric: "log-loss",
    split: "train",
    idColumn: "impression",
    target: "clicked",
    classes: ["0", "1"],
    rows: { train: 600, test: 250 },
    make: (draw) => {
      const device = draw.pick(["phone", "tablet", "desktop"]);
      const position = draw.int(1, 8);
      const { text, date } = draw.day("2024-03-01", 90);
      const isWeekend = date.getUTCDay() === 0 || date.getUTCDay() === 6;
      const seen = draw.int(0, 12);
      const value =
        0.4 - 0.45 * position + (device === "phone" ? 0.8 : 0) + (isWeekend ? 0.9 : 0) - 0.12 * seen;
      return {
        features: { shown_on: text, device, position, seen_before: seen },
        probabilities: binary(value),
      };
    },
  },
  {
    id: "customer-value",
    title: "Value of customers",
    description:
      "Predict what a customer spends in the next year. Spending is very uneven, so errors are counted on a logarithmic scale.",
    type: "regression",
    metric: "rmsle",
    split: "train",
    idColumn: "customer",
    target: "spending",
    rows,
    make: (draw) => {
      const orders = draw.int(1, 30);
      const basket = Math.exp(draw.normal(3.2, 0.5));
      const { text, number } = draw.day("2023-01-01", 365);
      const mean = 1.2 + 0.9 * Math.log(orders) + 0.7 * Math.log(basket) + 0.002 * number;
      const features = { orders_last_year: orders, mean_basket: basket.toFixed(2), last_order: text };
      return { features, mean, deviation: 0.35, isLog: true };
    },
    missing: { mean_basket: 0.1 },
  },
];

/** Plants, machines and materials. */
import { binary, rows, softmax, type TaskRules } from "./build.ts";

export const natureTasks: readonly TaskRules[] = [
  {
    id: "crop-yield",
    title: "Crop yield",
    description: "Predict the yield of a field in tonnes per hectare. More water helps up to a point.",
    type: "regression",
    metric: "rmse",
    split: "train",
    idColumn: "field",
    target: "yield",
    rows,
    make: (draw) => {
      const water = draw.uniform(200, 900);
      const nitrogen = draw.uniform(0, 220);
      const soil = draw.pick(["sand", "loam", "clay"]);
      const { text, number } = draw.day("2023-03-01", 75);
      const ground = { sand: -0.8, loam: 0.9, clay: 0.2 }[soil] ?? 0;
      const mean =
        5 + ground - ((water - 560) / 220) ** 2 + 0.012 * nitrogen - 0.00003 * nitrogen ** 2 - 0.015 * number;
      return {
        features: { sown: text, soil, water_mm: water.toFixed(0), nitrogen: nitrogen.toFixed(0) },
        mean,
        deviation: 0.5,
      };
    },
    missing: { nitrogen: 0.1 },
  },
  {
    id: "machine-failure",
    title: "Failing machines",
    description:
      "Predict whether a machine fails in the next week. `maintenance_ticket` numbers were given in the order of failures for the training table; in the test table they are random.",
    type: "classification",
    metric: "auc",
    split: "train",
    idColumn: "machine",
    target: "failed",
    classes: ["0", "1"],
    rows,
    make: (draw) => {
      const hours = draw.int(10, 9000);
      const heat = draw.normal(60, 9);
      const model = draw.pick(["M1", "M2", "M3"]);
      const vibration = Math.exp(draw.normal(0, 0.5));
      const value = -3.4 + 0.0004 * hours + 0.07 * (heat - 60) + 0.9 * vibration + (model === "M3" ? 1.1 : 0);
      const features = { model, hours_run: hours, heat_c: heat.toFixed(1), vibration: vibration.toFixed(3) };
      return { features, probabilities: binary(value) };
    },
    leak: (label, isTest, draw) => ({
      maintenance_ticket: isTest
        ? draw.int(10_000, 99_999)
        : label === "1"
          ? draw.int(70_000, 99_999)
          : draw.int(10_000, 70_000),
    }),
    missing: { vibration: 0.12 },
  },
  {
    id: "concrete-strength",
    title: "Strength of concrete",
    description:
      "Predict the strength (in MPa) of a mixture. Strength grows with age, and falls with the ratio of water to cement.",
    type: "regression",
    metric: "rmse",
    split: "heldOut",
    idColumn: "sample",
    target: "strength",
    rows,
    make: (draw) => {
      const cement = draw.uniform(150, 500);
      const water = draw.uniform(130, 230);
      const slag = draw.chance(0.5) ? draw.uniform(20, 250) : 0;
      const age = draw.pick([3, 7, 14, 28, 56, 90]);
      const mean = 14 * Math.log(1 + age) * 0.5 + 22 * (cement / water) * 0.6 + 0.04 * slag - 12;
      const features = {
        cement: cement.toFixed(0),
        water: water.toFixed(0),
        slag: slag === 0 ? "" : slag.toFixed(0),
        age_days: age,
      };
      return { features, mean, deviation: 3 };
    },
    missing: { water: 0.05 },
  },
  {
    id: "mushrooms",
    title: "Edible mushrooms",
    description: "Predict whether a mushroom is edible, from how it looks and smells.",
    type: "classification",
    metric: "accuracy",
    split: "heldOut",
    idColumn: "find",
    target: "edible",
    classes: ["edible", "poisonous"],
    rows,
    make: (draw) => {
      const odour = draw.pick(["none", "none", "almond", "foul", "musty"]);
      const cap = draw.pick(["brown", "red", "white", "yellow"]);
      const ring = draw.int(0, 2);
      const width = draw.uniform(2, 18);
      const smell = { none: 0, almond: -2.2, foul: 3, musty: 1.6 }[odour] ?? 0;
      const value =
        smell + (cap === "red" ? 1.8 : cap === "white" ? 0.7 : -0.9) - 0.6 * ring + 0.08 * (width - 9);
      const features = { odour, cap, rings: ring, cap_cm: width.toFixed(1) };
      return { features, probabilities: binary(2.2 * value) };
    },
    missing: { odour: 0.08, cap: 0.03 },
  },
  {
    id: "tree-species",
    title: "Species of trees",
    description:
      "Predict the probability of each species from measurements of a leaf: one column for each species.",
    type: "classification",
    metric: "log-loss",
    split: "train",
    idColumn: "leaf",
    target: "species",
    classes: ["ash", "beech", "maple", "oak"],
    rows,
    make: (draw) => {
      const length = draw.uniform(4, 16);
      const width = draw.uniform(2, 12);
      const lobes = draw.int(0, 6);
      const shape = length / width;
      const scores = [
        1.5 * (shape - 2),
        2 - 0.8 * lobes,
        0.9 * (lobes - 3) + 0.4 * (width - 7),
        0.8 * (lobes - 2) + 0.3 * (length - 10),
      ];
      const features = { length_cm: length.toFixed(1), width_cm: width.toFixed(1), lobes };
      return { features, probabilities: softmax(scores.map((one) => 1.6 * one)) };
    },
    missing: { width_cm: 0.08 },
  },
];

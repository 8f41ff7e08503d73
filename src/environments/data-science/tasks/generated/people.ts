/** Health, schools, work and banking. */
import { binary, logistic, rows, softmax, type TaskRules } from "./build.ts";

export const peopleTasks: readonly TaskRules[] = [
  {
    id: "readmission",
    title: "Readmission to hospital",
    description:
      "Predict whether a patient returns within 30 days. `lab_value` is measured only if a physician asked for it, which itself says something.",
    type: "classification",
    metric: "auc",
    split: "heldOut",
    idColumn: "stay",
    target: "readmitted",
    classes: ["False", "True"],
    rows,
    make: (draw) => {
      const age = draw.int(18, 95);
      const days = draw.int(1, 20);
      const earlier = draw.int(0, 5);
      const isTested = draw.chance(logistic(earlier - 2));
      const lab = draw.normal(50 + 4 * earlier, 9);
      const value = -4.2 + 0.02 * age + 0.08 * days + 0.7 * earlier + (isTested ? 0.9 : 0);
      const features = { age, days, earlier_stays: earlier, lab_value: isTested ? lab.toFixed(1) : "" };
      return { features, probabilities: binary(value) };
    },
  },
  {
    id: "exam-result",
    title: "Exam results",
    description: "Predict the points of the final exam (0 to 100, with noise) from the term before.",
    type: "regression",
    metric: "rmse",
    split: "train",
    idColumn: "student",
    target: "points",
    rows,
    digits: 1,
    make: (draw) => {
      const hours = draw.uniform(0, 20);
      const school = draw.pick(["north", "south", "east"]);
      const midterm = draw.normal(60, 14);
      const absent = draw.int(0, 25);
      const bonus = { north: 4, south: 0, east: -4 }[school] ?? 0;
      const mean = 8 + 0.7 * midterm + 1.1 * hours - 0.5 * absent + bonus;
      return {
        features: {
          school,
          weekly_hours: hours.toFixed(1),
          midterm: midterm.toFixed(0),
          absent_days: absent,
        },
        mean,
        deviation: 5,
      };
    },
    missing: { midterm: 0.1, weekly_hours: 0.05 },
  },
  {
    id: "loan-grade",
    title: "Grades of loans",
    description:
      "Predict the grade of a loan. `collections_contacted` was recorded after the loan was given, only for old loans; new loans, in the test table, all have 0.",
    type: "classification",
    metric: "accuracy",
    split: "train",
    idColumn: "loan",
    target: "grade",
    classes: ["A", "B", "C"],
    rows,
    make: (draw) => {
      const income = Math.exp(draw.normal(10.4, 0.4));
      const debt = draw.uniform(0, 0.8);
      const years = draw.int(0, 30);
      const purpose = draw.pick(["car", "home", "study", "other"]);
      const risk =
        5 * debt - 1.6 * (Math.log(income) - 10.4) - 0.07 * years + (purpose === "other" ? 0.8 : 0) - 1.2;
      const features = {
        income: income.toFixed(0),
        debt_share: debt.toFixed(3),
        years_employed: years,
        purpose,
      };
      return { features, probabilities: softmax([-2.2 * risk, 0.8, 2.2 * risk]) };
    },
    leak: (label, isTest, draw) => ({
      collections_contacted: isTest ? 0 : label === "C" ? draw.int(1, 6) : 0,
    }),
    missing: { years_employed: 0.12 },
  },
  {
    id: "salary",
    title: "Salaries in job advertisements",
    description: "Predict the yearly salary from title, place and requirements.",
    type: "regression",
    metric: "mae",
    split: "train",
    idColumn: "advert",
    target: "salary",
    rows,
    digits: 0,
    make: (draw) => {
      const level = draw.pick(["Junior", "", "Senior", "Lead"]);
      const job = draw.pick(["Analyst", "Engineer", "Nurse", "Designer", "Accountant"]);
      const city = draw.pick(["Bremen", "Lyon", "Porto", "Graz"]);
      const years = draw.int(0, 15);
      const base = { Analyst: 42, Engineer: 52, Nurse: 36, Designer: 40, Accountant: 44 }[job] ?? 40;
      const step = { Junior: -7, "": 0, Senior: 14, Lead: 24 }[level] ?? 0;
      const place = { Bremen: 6, Lyon: 3, Porto: -8, Graz: 0 }[city] ?? 0;
      const mean = 1000 * (base + step + place + 0.9 * years);
      return {
        features: { title: `${level} ${job}`.trim(), city, years_required: years },
        mean,
        deviation: 4500,
      };
    },
    missing: { city: 0.06 },
  },
  {
    id: "sleep-quality",
    title: "Quality of sleep",
    description: "Predict how well a person slept, from one day of a diary.",
    type: "classification",
    metric: "macro-f1",
    split: "heldOut",
    idColumn: "entry",
    target: "quality",
    classes: ["bad", "fair", "good"],
    rows,
    make: (draw) => {
      const coffee = draw.int(0, 6);
      const steps = draw.int(500, 18_000);
      const screen = draw.uniform(0, 5);
      const bedtime = draw.uniform(21, 26);
      const score = 1.6 - 0.5 * coffee + steps / 6000 - 0.4 * screen - 0.5 * Math.abs(bedtime - 22.8);
      const hours = Math.floor(bedtime) % 24;
      const minutes = Math.floor((bedtime % 1) * 60);
      const clock = `${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`;
      const features = { coffees: coffee, steps, screen_hours: screen.toFixed(1), bedtime: clock };
      return { features, probabilities: softmax([-2 * score, 0.6, 2 * score - 0.4]) };
    },
    missing: { steps: 0.1, bedtime: 0.04 },
  },
  {
    id: "credit-default",
    title: "Credit default",
    description: "Predict the probability that a credit is not repaid. Amounts are in two currencies.",
    type: "classification",
    metric: "log-loss",
    split: "heldOut",
    idColumn: "credit",
    target: "defaulted",
    classes: ["0", "1"],
    rows,
    make: (draw) => {
      const isForeign = draw.chance(0.3);
      const amount = Math.exp(draw.normal(8.5, 0.6));
      const income = Math.exp(draw.normal(10.2, 0.4));
      const late = draw.int(0, 4);
      const value = -3 + 6 * (amount / income) + 0.8 * late;
      const features = {
        currency: isForeign ? "CZK" : "EUR",
        amount: (amount * (isForeign ? 25 : 1)).toFixed(0),
        income_eur: income.toFixed(0),
        late_payments: late,
      };
      return { features, probabilities: binary(value) };
    },
    missing: { income_eur: 0.08, late_payments: 0.05 },
  },
];

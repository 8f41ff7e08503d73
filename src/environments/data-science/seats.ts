/** The seats, and the artefacts that each has to leave for the next. */
import type { SeatDescription } from "../environment.ts";

export const seatNames = ["data-engineer", "modeler", "analyst"] as const;
export type SeatName = (typeof seatNames)[number];

export const submissionFile = "submission.csv";

/** In the order in which they depend on each other. */
export const requiredArtefacts: Readonly<Record<SeatName, readonly string[]>> = {
  "data-engineer": ["X_train.pkl", "y_train.pkl", "X_test.pkl", "scaler.pkl"],
  modeler: ["model.pkl"],
  analyst: [submissionFile],
};

const rules =
  "Write one Python program per message, in a block ```python … ```. It runs in the workspace with numpy, pandas, scikit-learn and joblib, without a network, and you see what it prints. Files stay for the next program; variables do not. A message without a program ends your part.";

export const seatDescriptions: Readonly<Record<SeatName, SeatDescription>> = {
  "data-engineer": {
    purpose: "Turns the raw tables into numeric features for training and test.",
    prompt: `You are the data engineer of a team that solves a prediction task. Look at train.csv and test.csv, handle missing values, dates, text and categories, drop what would not be known when predicting, and treat both tables alike. Save with joblib.dump or to_pickle: X_train.pkl (one row per training row, numbers only), y_train.pkl (the target), X_test.pkl (one row per row of test.csv, in its order, the same columns) and scaler.pkl (a fitted transformer of scikit-learn). The modeler uses only these files. End with a short summary of what you did. ${rules}`,
    maxTokens: 2048,
  },
  modeler: {
    purpose: "Trains a model on the features.",
    prompt: `You are the modeler of a team that solves a prediction task. The data engineer has left X_train.pkl, y_train.pkl and X_test.pkl. Compare a few models of scikit-learn by cross-validation with the metric of the task, fit the best on all training rows and save it with joblib.dump as model.pkl. It needs the method predict and has to accept X_test.pkl. End with a short summary: model, validated score. ${rules}`,
    maxTokens: 2048,
  },
  analyst: {
    purpose: "Predicts the test rows and writes the submission.",
    prompt: `You are the analyst of a team that solves a prediction task. Load model.pkl and X_test.pkl, predict, and write submission.csv with one row for each id of test.csv, in the format of sample_submission.csv. If the metric needs probabilities, use predict_proba. Check the ids, the number of rows and that no value is missing. ${rules}`,
    maxTokens: 2048,
  },
};

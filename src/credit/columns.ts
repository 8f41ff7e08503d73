/** The functions in the table's columns, for rows of your own. */
export {
  leaveOneOutBaseline,
  leaveOneOutDeviation,
  maxBaseline,
  meanBaseline,
  movingBaseline,
  noBaseline,
  noScale,
  standardDeviation,
} from "./baselines.ts";
export {
  batchGrouping,
  nodeGrouping,
  runRoleActionGrouping,
  runRoleGrouping,
  taskGrouping,
  taskRoleGrouping,
  treeGrouping,
} from "./groups.ts";
export { policyGradient, ppoClip, sequenceClip, withEntropy, withKl } from "./objectives.ts";
export {
  immediateReturn,
  jointReturn,
  jointReward,
  laterProgress,
  outcomeReturn,
  progressReward,
  roleProgress,
  terminalReturn,
  trajectoryProgress,
  trajectoryReturn,
  treeReturn,
  turnsReturn,
  withOutcome,
} from "./returns.ts";
export { marginShaping, mixedScore, qualityShaping } from "./rewards.ts";
export { actionGae, broadcast, returnsToGo, tokenGae } from "./tokens.ts";
export { whitenActions, whitenTokens } from "./whitening.ts";

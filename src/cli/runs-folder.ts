/** Where runs are kept unless `--runs` names another folder. */
export const runsFolder = "runs";

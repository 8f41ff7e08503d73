/** Sets of Python packages that programs may import, in pinned versions. */
import { createHash } from "node:crypto";

export const packageSetNames = ["data-science"] as const;
export type PackageSet = (typeof packageSetNames)[number];

export interface PackageSetDescription {
  readonly summary: string;
  /** Every package that is installed, dependencies included, as pip writes them. */
  readonly requirements: readonly string[];
  /** The versions of Python for which all of them exist. */
  readonly oldestPython: readonly [number, number];
  readonly newestPython: readonly [number, number];
  /** Imported before programs start, because that takes longer than most of them. */
  readonly imports: readonly string[];
}

export const packageSets: Readonly<Record<PackageSet, PackageSetDescription>> = {
  "data-science": {
    summary: "numpy, pandas, scikit-learn",
    requirements: [
      "numpy==2.3.5",
      "scipy==1.16.3",
      "pandas==2.3.3",
      "scikit-learn==1.7.2",
      "joblib==1.5.2",
      "threadpoolctl==3.6.0",
      "python-dateutil==2.9.0.post0",
      "six==1.17.0",
      "pytz==2025.2",
      "tzdata==2025.2",
    ],
    oldestPython: [3, 11],
    newestPython: [3, 14],
    imports: [
      "numpy",
      "pandas",
      "joblib",
      "sklearn.compose",
      "sklearn.ensemble",
      "sklearn.feature_extraction.text",
      "sklearn.impute",
      "sklearn.linear_model",
      "sklearn.metrics",
      "sklearn.model_selection",
      "sklearn.pipeline",
      "sklearn.preprocessing",
    ],
  },
};

/**
 * One thread each: programs share the processors, a library that forks its threads' owner hangs, and sums do not depend
 * on the number of threads.
 */
export const packageVariables: Readonly<Record<string, string>> = {
  OPENBLAS_NUM_THREADS: "1",
  OMP_NUM_THREADS: "1",
  MKL_NUM_THREADS: "1",
  LOKY_MAX_CPU_COUNT: "1",
};

/** Changes with the versions, and with it the results of programs. */
export function packagesDigest(set: PackageSet): string {
  const { requirements } = packageSets[set];
  return createHash("sha256").update(requirements.join("\n")).digest("hex").slice(0, 12);
}

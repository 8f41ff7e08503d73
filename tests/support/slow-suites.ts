export const slowSuites: readonly string[] = [];

/** The smallest recipe for a module's environment with the one seat `one`, as YAML. `environment` is a flow mapping. */
export function moduleRecipe(name: string, environment: string): string {
  return `name: ${name}
environment: ${environment}
team: { roles: { one: { policy: own, prompt: "" } }, turns: 1 }
policies: { own: { model: { preset: nano } } }
algorithm: { name: grpo, samples: 2 }
train: { steps: 1, tasksPerStep: 1, learningRate: 0.001 }
evaluation: { tasks: 1 }
engine: { threads: 1 }
`;
}

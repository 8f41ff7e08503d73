/** A reasoner alone. In later rounds it sees its last solution. */
import { defineForm } from "./definition.ts";
import { reasoner } from "./seats.ts";

export const reasonerForm = defineForm({
  name: "reasoner",
  summary: "one solver, which sees its last solution in later turns",
  options: {},
  build: () => ({
    seats: { reasoner },
    rounds: [{ reasoner: { before: ["reasoner"] } }],
    remembers: 1,
    answer: "reasoner",
  }),
});

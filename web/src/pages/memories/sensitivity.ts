import type { Memory } from "../../api/types";

export type Sensitivity = Memory["sensitivity"];

/** The levels of sensitivity, widest first, with what each means. */
export const SENSITIVITIES: { value: Sensitivity; label: string; about: string }[] = [
  { value: "public", label: "public", about: "Wherever its scope is visible." },
  { value: "project", label: "project", about: "Only where its project is visible." },
  { value: "session", label: "session", about: "Only in the session it was stated in." },
  { value: "restricted", label: "restricted", about: "Never shown to an agent; you see it when you ask for it." },
];

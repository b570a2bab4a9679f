/** What people change, as plain questions in six groups, each with what it costs. Everything else stands under "All settings". */

export interface Asking {
  key: string;
  question: string;
  /** What an answer costs or changes; "" = nothing worth saying. */
  cost: string;
}

export interface Group {
  name: string;
  title: string;
  questions: readonly Asking[];
  /** The section of the settings whose model can be tested here. */
  model?: "capture.extractor" | "recall.judge";
}

export const GROUPS: readonly Group[] = [
  {
    name: "giving",
    title: "What comes by itself",
    questions: [
      { key: "recall.enabled", question: "Should memories come unasked?", cost: "Off: nothing comes by itself, and costs nothing. Your agent can still search." },
      { key: "recall.level", question: "How readily before a prompt?", cost: "The table says what each level costs, and how often it is right." },
      { key: "recall.shadow", question: "Only watch, and give nothing?", cost: "Costs no tokens. Traces show what would have come." },
      { key: "preset", question: "In which way do memories come?", cost: "Another preset is another way of giving: compare it on a prompt of yours before." },
    ],
  },
  {
    name: "tokens",
    title: "How many tokens it may take",
    questions: [
      { key: "recall.budgets.start", question: "At most how many when a session starts?", cost: "Most sessions take nearly all of it, once." },
      { key: "recall.budgets.prompt", question: "At most how many before a prompt?", cost: "Most prompts take none of it." },
      { key: "recall.max_items", question: "At most how many memories before a prompt?", cost: "" },
    ],
  },
  {
    name: "learning",
    title: "What is learned",
    questions: [
      { key: "capture.enabled", question: "Should sessions be learned from?", cost: "Off: only what you or your agent note on purpose is kept." },
      { key: "capture.notes", question: "May your agent note things by itself?", cost: "With review, each note waits for you." },
      { key: "capture.rule_files", question: "Should the rule files of a project be followed?", cost: "Nothing leaves this machine." },
      { key: "capture.auto_accept", question: "How sure must it be to hold without your word?", cost: "Higher: more waits in Review." },
    ],
  },
  {
    name: "model",
    title: "A language model that writes up sessions",
    model: "capture.extractor",
    questions: [
      { key: "capture.extractor.provider", question: "Which model may read your sessions?", cost: "Off: nothing leaves this machine. Else finished sessions are sent to it, without secrets." },
      { key: "capture.extractor.model", question: "What is the model called?", cost: "A small one is enough." },
      { key: "capture.extractor.endpoint", question: "Where is its server?", cost: "" },
      { key: "capture.extractor.api_key_env", question: "Which variable holds the key?", cost: "The key itself is never stored." },
      { key: "capture.extractor.tokens_per_day", question: "At most how many tokens a day?", cost: "What a day has cost stands on Home." },
      { key: "capture.extractor.price", question: "What do a million tokens cost, in/out?", cost: "Such as 0.25/2. Then Home shows money too." },
    ],
  },
  {
    name: "judge",
    title: "A language model that decides at the prompt",
    model: "recall.judge",
    questions: [
      { key: "recall.judge.provider", question: "Which model may see each prompt?", cost: "Off: nothing leaves this machine. Else each prompt is sent to it with memories that come near, and waits for it." },
      { key: "recall.judge.model", question: "What is the model called?", cost: "It has to be fast." },
      { key: "recall.judge.endpoint", question: "Where is its server?", cost: "" },
      { key: "recall.judge.tokens_per_day", question: "At most how many tokens a day?", cost: "What a day has cost stands on Home." },
      { key: "recall.judge.price", question: "What do a million tokens cost, in/out?", cost: "Such as 0.25/2. Then Home shows money too." },
    ],
  },
  {
    name: "keeping",
    title: "What is kept, and what others see",
    questions: [
      { key: "privacy.incognito", question: "Store nothing for now?", cost: "Memories come as usual; nothing is added." },
      { key: "privacy.emails", question: "Should e-mail addresses be taken out?", cost: "" },
      { key: "retention.trace_days", question: "For how many days is it kept why something came?", cost: "Longer: the store grows larger." },
      { key: "backup.keep", question: "How many backups are kept?", cost: "Each is as large as the store." },
      { key: "project.others", question: "What of other projects may be seen here?", cost: "" },
    ],
  },
];

const WORDS = { active: "active", quarantined: "waits for review", superseded: "superseded", retired: "forgotten" };

export function State({ name }: { name: keyof typeof WORDS }) {
  return <span className={`state state-${name}`}>{WORDS[name]}</span>;
}

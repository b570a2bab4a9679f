import { useMediaQuery } from "@mantine/hooks";
import { useFacets, type MemoryFilter } from "../../api/queries";
import type { Facets as Counts } from "../../api/types";
import { countOf, scopeOf, speakerOf, wordsOf } from "../../ui/words";

type Name = keyof Counts;

const STATES: Record<string, string> = { active: "active", quarantined: "waits for review", superseded: "superseded", retired: "forgotten" };
const GROUPS: { name: Name; title: string; say: (value: string) => string }[] = [
  { name: "given", title: "Given", say: (value) => (value === "true" ? "given" : "never given") },
  { name: "used", title: "Used", say: (value) => (value === "true" ? "used" : "never used") },
  { name: "scope", title: "Project", say: scopeOf },
  { name: "kind", title: "Kind", say: wordsOf },
  { name: "tier", title: "Said by", say: speakerOf },
  { name: "status", title: "State", say: (value) => STATES[value] ?? value },
  { name: "sensitivity", title: "Sensitivity", say: wordsOf },
];
const FIRST = 8;

interface Props {
  filter: MemoryFilter;
  chosen: (name: Name) => string[];
  put: (name: Name, values: string[]) => void;
}

/** What the list can be narrowed to, each value with how many memories it would list. */
export function Facets({ filter, chosen, put }: Props) {
  const counts = useFacets(filter).data;
  const narrow = useMediaQuery("(max-width: 1180px)", undefined, { getInitialValueInEffect: false }) === true;
  const count = GROUPS.reduce((whole, { name }) => whole + chosen(name).length, 0);
  if (count === 0 && counts !== undefined && Object.values(counts).every((rows) => rows.length === 0)) return null;
  return (
    <details className="facets" open={!narrow} key={String(narrow)}>
      <summary>Filters{count > 0 && `, ${count} set`}</summary>
      {GROUPS.map(({ name, title, say }) => {
        const values = chosen(name);
        const rows = [...(counts?.[name] ?? [])];
        for (const value of values) if (!rows.some((row) => row.value === value)) rows.push({ value, count: 0 });
        const one = name === "given" || name === "used";
        if (rows.length < (one ? 1 : 2) && values.length === 0) return null; // nothing to choose between
        const toggle = (value: string) => put(name, values.includes(value) ? values.filter((other) => other !== value) : one ? [value] : [...values, value]);
        const line = ({ value, count: number }: (typeof rows)[number]) => (
          <label key={value}>
            <input type="checkbox" checked={values.includes(value)} onChange={() => toggle(value)} />
            <span>{say(value)}</span>
            <span className="num faint">{countOf(number)}</span>
          </label>
        );
        return (
          <fieldset key={name}>
            <legend>{title}</legend>
            {rows.slice(0, FIRST).map(line)}
            {rows.length > FIRST && (
              <details>
                <summary>{rows.length - FIRST} more</summary>
                {rows.slice(FIRST).map(line)}
              </details>
            )}
          </fieldset>
        );
      })}
    </details>
  );
}

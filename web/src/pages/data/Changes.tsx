import { Button, Select, TextInput } from "@mantine/core";
import { Link, useSearchParams } from "react-router";
import { type ChangeFilter, useChangeLog } from "../../api/data";
import { useProjects } from "../../api/queries";
import type { ChangeEntry } from "../../api/types";
import { Difference } from "../../ui/Difference";
import { differencesOf } from "../../ui/differences";
import { Empty } from "../../ui/Empty";
import { Kind } from "../../ui/Kind";
import { Pages } from "../../ui/Pages";
import { briefOf, takeBack } from "../../ui/said";
import { State } from "../../ui/State";
import { countOf, dayOf, plural, scopeOf, timeOf } from "../../ui/words";

const DAY_MS = 86_400_000;
const SHOWN = 4;
const CAUSES: Record<string, { label: string; causes: ChangeEntry["cause"][] }> = {
  added: { label: "added or said again", causes: ["new", "duplicate", "confirmed_by_words", "other_kind", "session_note", "session_went_on", "stored_words"] },
  edited: { label: "edited", causes: ["edited", "holds_on_all"] },
  replaced: {
    label: "replaced or contradicted",
    causes: [
      "newer", "contradicts", "replaced_by_user", "says_same", "denies", "replaces", "gives_other_value", "may_be_opposite", "may_replace_words", "may_give_other_value",
      "may_correct", "may_replace", "may_contradict", "replaces_waiting", "took_over", "replaced_by", "said_to_replace", "settled",
    ],
  },
  forgotten: { label: "forgotten", causes: ["forgotten", "forgotten_by_agent", "not_useful", "deleted_from_export", "nothing_left"] },
  reviewed: { label: "decided in review", causes: ["accepted", "rejected", "kept", "other_accepted", "merged_by_review", "merged_into"] },
  undone: { label: "taken back", causes: ["undone"] },
  upkeep: { label: "upkeep", causes: ["faded", "over_limit", "consolidated", "quotes_ended"] },
  files: { label: "read from files", causes: ["read_off", "confirmed_in_file", "changed_in_file", "changed_by_others", "removed_from_file", "file_removed"] },
  branches: { label: "branches", causes: ["branch_merged", "branch_gone", "branch_back", "branch_renamed"] },
  shared: { label: "sync and teams", causes: ["synced", "shared", "changed_by_team", "unshared", "team_left"] },
};

/** Every change, newest first: what it did to each memory word by word, why, and a way to take back exactly this one. */
export function Changes() {
  const [params, setParams] = useSearchParams();
  const projects = useProjects().data ?? [];
  const [cause, scope, from, to] = ["cause", "scope", "from", "to"].map((name) => params.get(name));
  const filter: ChangeFilter = {
    ...(cause != null && CAUSES[cause] !== undefined && { cause: CAUSES[cause].causes }),
    ...(scope != null && { scope: [scope] }),
    ...(startOf(from) !== undefined && { since_ms: startOf(from)! }),
    ...(startOf(to) !== undefined && { until_ms: startOf(to)! + DAY_MS }),
  };
  const log = useChangeLog(filter);
  const put = (name: string, value: string | null) =>
    setParams(
      (now) => {
        if (value === null || value === "") now.delete(name);
        else now.set(name, value);
        return now;
      },
      { replace: true },
    );
  return (
    <>
      <div className="filters" role="search">
        <Select aria-label="Cause" placeholder="Every cause" clearable data={Object.entries(CAUSES).map(([value, { label }]) => ({ value, label }))} value={cause ?? null} onChange={(value) => put("cause", value)} w={190} />
        <Select
          aria-label="Scope"
          placeholder="Every scope"
          clearable
          data={[{ value: "universal", label: "universal" }, ...projects.map((row) => ({ value: row.scope, label: row.project.name }))]}
          value={scope ?? null}
          onChange={(value) => put("scope", value)}
          w={180}
        />
        <TextInput type="date" aria-label="From this day on" leftSection={<span className="faint">from</span>} leftSectionWidth={44} value={from ?? ""} onChange={(event) => put("from", event.currentTarget.value)} w={180} />
        <TextInput type="date" aria-label="Until this day" leftSection={<span className="faint">until</span>} leftSectionWidth={44} value={to ?? ""} onChange={(event) => put("to", event.currentTarget.value)} w={180} />
      </div>
      <Pages of={log} rows={(page) => page.changes} empty={<Empty title={Object.keys(filter).length > 0 ? "No change fits" : "Nothing was written yet"} text={Object.keys(filter).length > 0 ? "Take a filter away." : "Each change of a memory appears here, with its reason."} />}>
        {(entries) => <Log changes={together(entries)} />}
      </Pages>
    </>
  );
}

/** The beginning of a day here. */
function startOf(day: string | null | undefined): number | undefined {
  const ms = day == null || day === "" ? NaN : new Date(`${day}T00:00`).getTime();
  return Number.isNaN(ms) ? undefined : ms;
}

/** Entries that were written together, and are taken back together. */
function together(entries: ChangeEntry[]): ChangeEntry[][] {
  const byId = new Map<string, ChangeEntry[]>();
  for (const entry of entries) byId.set(entry.change_id, [...(byId.get(entry.change_id) ?? []), entry]);
  return [...byId.values()];
}

function Log({ changes }: { changes: ChangeEntry[][] }) {
  let day = "";
  return (
    <ul className="changes">
      {changes.map((entries) => {
        const today = dayOf(entries[0]!.at_ms);
        const heading = today !== day ? today : undefined;
        day = today;
        return (
          <li key={entries[0]!.change_id + entries[0]!.at_ms}>
            {heading !== undefined && <h2 className="changes-day">{heading}</h2>}
            <Change entries={entries} />
          </li>
        );
      })}
    </ul>
  );
}

function Change({ entries }: { entries: ChangeEntry[] }) {
  const first = entries[0]!;
  const title = `${first.reason}: ${briefOf(first.memory.content)}`;
  const undo = entries.length > 1 ? `Undo all ${countOf(entries.length)}` : "Undo";
  return (
    <article className="change" aria-label={title}>
      <time className="num">{timeOf(first.at_ms)}</time>
      <div className="change-what">
        {entries.slice(0, SHOWN).map((entry) => (
          <Entry key={entry.memory.id} entry={entry} />
        ))}
        {entries.length > SHOWN && <p className="faint">and {plural(entries.length - SHOWN, "memory", "memories")} more</p>}
      </div>
      {first.change_id !== "" && (
        <Button size="compact-xs" variant="default" aria-label={`${undo}: ${title}`} onClick={() => void takeBack({ ids: [first.change_id], title })}>
          {undo}
        </Button>
      )}
    </article>
  );
}

function Entry({ entry: { memory, before, reason } }: { entry: ChangeEntry }) {
  const others = before === null ? [] : differencesOf(before, memory);
  return (
    <div className="change-entry">
      <p>
        <Kind name={memory.kind} />{" "}
        <Link to={`/memories/${memory.id}`}>{before === null || before.content === memory.content ? memory.content : <Difference before={before.content} after={memory.content} />}</Link>{" "}
        {(before === null ? memory.status !== "active" : before.status !== memory.status) && <State name={memory.status} />}
      </p>
      <p className="faint">
        {[reason, ...others, scopeOf(memory.scope)].join(" · ")}
      </p>
    </div>
  );
}

import { Alert, Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { type PurgeAsked, usePurge, usePurgePreview, useRescan } from "../../api/data";
import type { Purged } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { Confirm } from "../../ui/Confirm";
import { Kind } from "../../ui/Kind";
import { Panel } from "../../ui/Panel";
import { Rows } from "../../ui/Rows";
import { say } from "../../ui/said";
import { countOf, plural, scopeOf, wordsOf } from "../../ui/words";
import { ProjectSelect } from "./DataPage";

type What = "text" | "source" | "project" | "session" | "ids";

const WHAT: { value: What; label: string; field: string; example: string }[] = [
  { value: "text", label: "memories with exactly these words", field: "Words", example: "The launch is in May." },
  { value: "source", label: "everything from one source", field: "Source", example: "CLAUDE.md, import, mcp" },
  { value: "project", label: "everything of one project", field: "Project", example: "" },
  { value: "session", label: "everything learned from one session", field: "Session", example: "claude-code/6c0f6a2e-…" },
  { value: "ids", label: "memories by their ids", field: "Ids", example: "mem_…, mem_…" },
];
const SHOWN = 40;

export function Remove() {
  return (
    <div className="grid">
      <Purge />
      <Secrets />
    </div>
  );
}

function Purge() {
  const [what, setWhat] = useState<What>("text");
  const [value, setValue] = useState("");
  const preview = usePurgePreview();
  const purge = usePurge();
  const chosen = WHAT.find((one) => one.value === what)!;
  const asked = askedOf(what, value.trim());
  const set = (text: string) => {
    setValue(text);
    preview.reset();
  };
  return (
    <Panel title="Purge" sub="Removes memories from tables, indexes, history, traces, logs, backups and exports. It cannot be taken back; to end a memory and keep its history, forget it.">
      <form
        className="data-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (asked !== undefined) preview.mutate(asked);
        }}
      >
        <Select label="Remove" data={WHAT} value={what} allowDeselect={false} onChange={(next) => { setWhat(next as What); set(""); }} />
        {what === "project" ? (
          <ProjectSelect label={chosen.field} placeholder="Choose a project" description="With its sessions and traces" value={value} set={set} />
        ) : (
          <TextInput label={chosen.field} placeholder={chosen.example} value={value} onChange={(event) => set(event.currentTarget.value)} />
        )}
        <Button type="submit" variant="default" loading={preview.isPending} disabled={asked === undefined}>
          Show what it would remove
        </Button>
      </form>
      {preview.error !== null && <ProblemBox error={preview.error} />}
      {preview.data !== undefined && asked !== undefined && (
        <section aria-label="What would be removed">
          <Taken of={preview.data} />
          <Confirm
            name={`Purge ${takenOf(preview.data)}`}
            title="Remove for good"
            text={`${takenOf(preview.data)} and every version, trace and copy of ${preview.data.memories.length === 1 ? "it" : "them"} that this home knows of. This cannot be taken back.`}
            does="Remove for good"
            bad
            mt={12}
            act={async () => {
              const { left } = await purge.mutateAsync({ asked, ids: preview.data!.memories.map((one) => one.id) });
              say(`Removed for good: ${takenOf(preview.data!)}`, left.length === 0 ? "" : `These may still hold it: ${left.join("; ")}`);
              set("");
            }}
          />
        </section>
      )}
      {purge.data !== undefined && purge.data.left.length > 0 && <Left texts={purge.data.left} />}
    </Panel>
  );
}

function askedOf(what: What, value: string): PurgeAsked | undefined {
  if (value === "") return undefined;
  if (what === "ids") return { ids: value.split(/[\s,]+/).filter((id) => id !== "") };
  if (what !== "session") return { [what]: value } as PurgeAsked;
  const at = value.indexOf("/");
  return at < 1 || at === value.length - 1 ? undefined : { session: { host: value.slice(0, at), session_id: value.slice(at + 1) } };
}

function takenOf({ memories, sessions }: Purged): string {
  return [plural(memories.length, "memory", "memories"), ...(sessions.length > 0 ? [plural(sessions.length, "session")] : [])].join(" and ");
}

function Taken({ of }: { of: Purged }) {
  const [all, setAll] = useState(false);
  const memories = all ? of.memories : of.memories.slice(0, SHOWN);
  return (
    <>
      <ul className="data-lines">
        {memories.map((one) => (
          <li key={one.id}>
            <Kind name={one.kind} /> {one.content} <span className="faint">{scopeOf(one.scope)}</span>
          </li>
        ))}
        {of.sessions.slice(0, SHOWN).map((one) => (
          <li key={one} className="mono">
            session {one}
          </li>
        ))}
      </ul>
      {of.memories.length > memories.length && (
        <Button size="compact-xs" variant="default" onClick={() => setAll(true)}>
          Show all {countOf(of.memories.length)}
        </Button>
      )}
      <Places rows={of.rows} files={of.files} name="Where it stands" />
      {of.alike.length > 0 && <Alert color="orange" mt={8}>{plural(of.alike.length, "other memory says", "other memories say")} the same and would stay: {of.alike.join(", ")}</Alert>}
      {of.left.length > 0 && <Left texts={of.left} />}
    </>
  );
}

/** Tables and files with the number of rows that are touched in each. */
function Places({ rows, files, name }: { rows: Record<string, number>; files: Record<string, number>; name: string }) {
  const places = [...Object.entries(rows), ...Object.entries(files)];
  if (places.length === 0) return null;
  return (
    <Rows name={name} columns={["place", "entries"]}>
      {places.map(([place, count]) => (
        <tr key={place}>
          <th scope="row">{place.includes("/") ? <span className="mono">{place}</span> : wordsOf(place)}</th>
          <td data-name="entries" className="num">{countOf(count)}</td>
        </tr>
      ))}
    </Rows>
  );
}

function Left({ texts }: { texts: readonly string[] }) {
  return (
    <Alert color="orange" mt={8} title="These may still hold it">
      <ul>
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Alert>
  );
}

/** Secrets that today's rules know, in what was stored before. */
function Secrets() {
  const look = useRescan();
  const clean = useRescan();
  const found = look.data !== undefined && Object.keys({ ...look.data.rows, ...look.data.files }).length > 0;
  return (
    <Panel title="Redact secrets" sub="Applies the rules that hold now to everything that is stored: tables, indexes, traces, logs, start blocks, backups and exports.">
      <Button variant="default" loading={look.isPending} onClick={() => { clean.reset(); look.mutate(true); }}>
        Look for secrets
      </Button>
      <div role="status">
        {clean.data !== undefined ? (
          <p>The secrets were taken out.</p>
        ) : (
          look.data !== undefined && !found && <p>Nothing was found: the stored data holds no secret that the rules recognize.</p>
        )}
      </div>
      {(look.error ?? clean.error) !== null && <ProblemBox error={look.error ?? clean.error} />}
      {look.data !== undefined && found && (
        <>
          <Places {...(clean.data ?? look.data)} name="Where secrets stand" />
          {clean.data === undefined && (
            <Confirm
              name="Take them out"
              title="Take secrets out"
              text="In each of these places a mark takes the place of the secret. This cannot be taken back; the rest of every text stays."
              bad
              mt={12}
              act={() => clean.mutateAsync(false)}
            />
          )}
        </>
      )}
      {(clean.data ?? look.data)?.left.length ? <Left texts={(clean.data ?? look.data)!.left} /> : null}
    </Panel>
  );
}

import { Alert, Button, Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { type PastAsked, type PastReport, usePastSessions } from "../../api/data";
import { ProblemBox } from "../../ui/Answer";
import { Panel } from "../../ui/Panel";
import { Rows } from "../../ui/Rows";
import { countOf, plural } from "../../ui/words";

/** Learn from conversations that coding agents kept on this machine: first what would be read, then the reading, file by file. */
export function PastSessions() {
  const [path, setPath] = useState("");
  const [since, setSince] = useState("");
  const [subagents, setSubagents] = useState(false);
  const [at, setAt] = useState({ done: 0, whole: 0 });
  const tell = (done: number, whole: number) => setAt({ done, whole });
  const look = usePastSessions(tell);
  const learn = usePastSessions(tell);
  const running = look.isPending || learn.isPending;
  const asked = (dry_run: boolean): PastAsked => ({ path: path.trim(), since_ms: since === "" ? 0 : new Date(`${since}T00:00`).getTime(), subagents, dry_run });
  const again = () => {
    look.reset();
    learn.reset();
  };
  const change = (set: () => void) => {
    set();
    again();
  };
  const found = learn.data ?? look.data;
  return (
    <Panel title="Learn from past sessions" sub="Conversations that coding agents keep on this machine. Each session is read once; a second run adds nothing.">
      <form
        className="data-form"
        onSubmit={(event) => {
          event.preventDefault();
          again();
          look.mutate(asked(true));
        }}
      >
        <TextInput label="File or folder" description="Left out: where the agents found here keep their sessions" placeholder="/home/you/.claude/projects" value={path} onChange={(event) => { const { value } = event.currentTarget; change(() => setPath(value)); }} />
        <TextInput type="date" label="Only sessions that ended since" value={since} onChange={(event) => { const { value } = event.currentTarget; change(() => setSince(value)); }} />
        <Checkbox size="xs" label="Also learn from subagents" checked={subagents} onChange={(event) => { const { checked } = event.currentTarget; change(() => setSubagents(checked)); }} />
        <Button type="submit" variant="default" loading={look.isPending} disabled={learn.isPending}>
          Show what it would read
        </Button>
      </form>
      {running && (
        <div className="data-progress">
          <progress aria-label="Past sessions" {...(at.whole > 0 && { value: at.done, max: at.whole })} />
          <span className="num">{at.whole > 0 ? `${countOf(at.done)} of ${plural(at.whole, "file")}` : "It begins"}</span>
          <Button size="compact-xs" variant="default" onClick={() => (look.isPending ? look : learn).stop()}>
            Stop
          </Button>
        </div>
      )}
      {(look.error ?? learn.error) !== null && <ProblemBox error={look.error ?? learn.error} />}
      {found !== undefined && !running && (
        <section className="data-done" aria-label="Past sessions" role="status">
          <Found of={found} />
          {learn.data !== undefined ? (
            <p>
              Learned {plural(learn.data.learned, "statement")}; {countOf(learn.data.known)} known already. <Link to="/data/changes">Changes</Link> lists each, with Undo. What is not certain waits in <Link to="/review">Review</Link>.
            </p>
          ) : (
            <Button mt={4} disabled={promptsOf(found) === 0} onClick={() => learn.mutate(asked(false))}>
              {promptsOf(found) === 0 ? "There is nothing new to learn from" : `Learn from ${plural(promptsOf(found), "new prompt")}`}
            </Button>
          )}
        </section>
      )}
    </Panel>
  );
}

function promptsOf({ hosts }: PastReport): number {
  return hosts.reduce((sum, one) => sum + one.prompts, 0);
}

function Found({ of }: { of: PastReport }) {
  return (
    <>
      {of.hosts.length === 0 ? (
        <p>No conversation was found there.</p>
      ) : (
        <Rows name="What was found" columns={["agent", "files", "sessions", "new prompts", "unreadable lines"]}>
          {of.hosts.map((one) => (
            <tr key={one.host}>
              <th scope="row">{one.host}</th>
              <td data-name="files" className="num">{countOf(one.files)}</td>
              <td data-name="sessions" className="num">{countOf(one.sessions)}</td>
              <td data-name="new prompts" className="num">{countOf(one.prompts)}</td>
              <td data-name="unreadable lines" className="num">{countOf(one.bad)}</td>
            </tr>
          ))}
        </Rows>
      )}
      {of.stopped && <p>Stopped: the other files were not read.</p>}
      {of.errors.length > 0 && (
        <Alert color="orange" mt={8} title="Not read">
          <ul>
            {of.errors.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </Alert>
      )}
    </>
  );
}

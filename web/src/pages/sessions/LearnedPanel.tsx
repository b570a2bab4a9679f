import { Button, Group } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { useDecide, useEdit, useForget, useLearned } from "../../api/queries";
import type { Learned, LearnedStatement, Memory, SessionDigest } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Kind } from "../../ui/Kind";
import { Panel } from "../../ui/Panel";
import { Rewrite } from "../../ui/Rewrite";
import { briefOf, sayChanged } from "../../ui/said";
import { State } from "../../ui/State";
import { countOf, plural, speakerOf, whenOf } from "../../ui/words";

const FATES: Record<string, string> = { merged: "merged with what is known", duplicate: "known already" };
/** What the session was about, and what it taught: each statement with its evidence and fate, to accept, edit or drop; requests to a model; what waits. */
export function LearnedPanel({ session }: { session: string }) {
  return (
    <Panel title="What this session taught" className="learned">
      <Answer of={useLearned(session)}>
        {({ learned, digests }) => (
          <>
            {learned === null ? <p className="sub">Nothing yet.</p> : <Found found={learned} />}
            {digests[0] !== undefined && <About digest={digests[0]} />}
          </>
        )}
      </Answer>
    </Panel>
  );
}

const LINES: Record<string, string> = { impl: "worked on", dec: "decided", block: "still failing", next: "open", done: "done", fix: "fixed" };

/** The digest: in a few lines what the session did, decided and left open. */
function About({ digest }: { digest: SessionDigest }) {
  const lines = [
    ...digest.lines.map(({ code, text }) => [LINES[code] ?? code, text] as const),
    ...digest.commits.map((text) => ["commit", text] as const),
    ...digest.open_tasks.map((text) => ["open task", text] as const),
    ...(digest.files.length > 0 ? [[plural(digest.files.length, "file"), digest.files.join(", ")] as const] : []),
  ];
  return (
    <details className="about-session">
      <summary>What it did</summary>
      <dl className="facts">
        {lines.map(([name, text], at) => (
          <Row key={at} name={name} value={text} />
        ))}
      </dl>
      <Link to={`/memories/${digest.memory_id}`}>Open the digest's memory</Link>
    </details>
  );
}

function Found({ found }: { found: Learned }) {
  const { statements, dropped, reminded, requests, waiting } = found;
  const coming = [
    ...(waiting.messages > 0 ? [`${plural(waiting.messages, "message")} for the language model`] : []),
    ...(waiting.transcripts > 0 ? [`${plural(waiting.transcripts, "transcript")} to be read`] : []),
  ];
  return (
    <>
      <p className="sub">
        {statements.length === 0 ? "No statement of it was kept" : `${plural(statements.length, "statement")}, ${countOf(waiting.statements)} of them ${waiting.statements === 1 ? "waits" : "wait"} for you`}
      </p>
      <ul className="learned-list">
        {statements.map((one) => (
          <li key={one.memory.id}>
            <Statement one={one} />
          </li>
        ))}
      </ul>
      <dl className="facts">
        {dropped.length > 0 && (
          <>
            <dt>dropped</dt>
            <dd>{dropped.map((one) => `${countOf(one.count)}: ${one.reason}`).join("; ")}</dd>
          </>
        )}
        {reminded.length > 0 && <Row name="reminder" value={`the agent was reminded to note things in turn ${reminded.join(", ")}`} />}
        {requests.map((one, at) => (
          <Row
            key={at}
            name="request"
            value={`${whenOf(one.at_ms)}, ${one.model}: ${countOf(one.tokens_in)} tokens in, ${one.error === "" ? `${countOf(one.tokens_out)} out, ${one.kept} kept, ${one.dropped.length} dropped` : `no answer: ${one.error}`}`}
          />
        ))}
        {coming.length > 0 && <Row name="waits" value={coming.join(", ")} />}
      </dl>
    </>
  );
}

function Row({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="num">{value}</dd>
    </>
  );
}

function Statement({ one }: { one: LearnedStatement }) {
  const { memory } = one;
  const [editing, setEditing] = useState(false);
  const holds = memory.status === "active" || memory.status === "quarantined";
  return (
    <article aria-label={briefOf(memory.content)}>
      <p className="learned-text">
        <Kind name={memory.kind} /> <Link to={`/memories/${memory.id}`}>{memory.content}</Link> <State name={memory.status} />
      </p>
      <p className="faint">
        {one.believed}
        {FATES[one.fate] !== undefined && `; ${FATES[one.fate]}`}
        {one.replaced.map((other) => (
          <Other key={other.id} about="; replaced" other={other} />
        ))}
        {one.questions.map((other) => (
          <Other key={other.id} about="; contradicts" other={other} />
        ))}
      </p>
      {one.evidence.map((said, at) => (
        <p className="faint" key={at}>
          {speakerOf(said.speaker)}
          {said.turn > 0 && `, turn ${said.turn}`}
          {said.span !== "" && said.span !== memory.content && `: “${said.span}”`}
        </p>
      ))}
      {editing ? <Better one={one} done={() => setEditing(false)} /> : holds && <Decisions one={one} edit={() => setEditing(true)} />}
    </article>
  );
}

function Other({ about, other }: { about: string; other: Memory }) {
  return (
    <>
      {about} <Link to={`/memories/${other.id}`}>“{briefOf(other.content)}”</Link>
    </>
  );
}

function Decisions({ one, edit }: { one: LearnedStatement; edit: () => void }) {
  const { memory, waits } = one;
  const decide = useDecide();
  const forget = useForget();
  const drop = () =>
    waits
      ? decide.mutate({ id: memory.id, action: "reject" }, { onSuccess: ({ change_id }) => sayChanged(`Dropped: ${briefOf(memory.content)}`, change_id, "It is not learned again.") })
      : forget.mutate(memory.id, { onSuccess: ({ change_id }) => sayChanged(`Dropped: ${briefOf(memory.content)}`, change_id, "Never recalled again.") });
  return (
    <Group gap={6}>
      {waits && (
        <Button
          size="compact-xs"
          loading={decide.isPending}
          onClick={() => decide.mutate({ id: memory.id, action: "accept" }, { onSuccess: ({ change_id }) => sayChanged(`Accepted: ${briefOf(memory.content)}`, change_id) })}
        >
          Accept
        </Button>
      )}
      <Button size="compact-xs" variant="default" onClick={edit}>
        Edit
      </Button>
      <Button size="compact-xs" variant="default" c="var(--bad)" loading={forget.isPending} onClick={drop}>
        Drop
      </Button>
    </Group>
  );
}

/** Better words; of a statement that waits they are accepted with that. */
function Better({ one, done }: { one: LearnedStatement; done: () => void }) {
  const { memory, waits } = one;
  const decide = useDecide();
  const edit = useEdit();
  const save = (words: string) => {
    const onSuccess = ({ change_id }: { change_id: string | null }) => {
      sayChanged(`Saved: ${briefOf(words)}`, change_id);
      done();
    };
    if (waits) decide.mutate({ id: memory.id, action: "accept", content: words }, { onSuccess });
    else edit.mutate({ memory, parts: { content: words } }, { onSuccess });
  };
  return <Rewrite label="Better words" given={memory.content} name={waits ? "Accept these words" : "Save"} changed={!waits} busy={decide.isPending || edit.isPending} error={edit.error} done={save} cancel={done} />;
}

import "./review.css";
import { Button, Group, Kbd, Textarea } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { isWriting } from "../../app/shortcuts";
import { useDecide, useReview, useUndo, type Decision } from "../../api/queries";
import type { Memory, ReviewEntry } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Difference } from "../../ui/Difference";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { Kind } from "../../ui/Kind";
import { say } from "../../ui/said";
import { dateOf, plural, scopeOf } from "../../ui/words";

const DONE = { accept: "Accepted", reject: "Rejected; it is not learned again", merge: "Merged", keep: "Both hold" };

export function Component() {
  const review = useReview();
  return (
    <>
      <Head title="Review" text="What only you can decide: statements nobody confirmed, and pairs that contradict each other." />
      <Answer of={review}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty title="Nothing waits for you" text="What is captured with little confidence, comes from imports, or contradicts something on record waits here until you say a word." to="/memories" link="All memories" />
          ) : (
            <Queue entries={entries} />
          )
        }
      </Answer>
    </>
  );
}

function Queue({ entries }: { entries: ReviewEntry[] }) {
  const [at, setAt] = useState(0);
  const [editing, setEditing] = useState(false);
  const decide = useDecide();
  const undo = useUndo();
  const index = Math.min(at, entries.length - 1);
  const entry = entries[index]!;
  const list = useRef<HTMLUListElement>(null);

  const choose = (to: number) => {
    setEditing(false);
    const next = Math.min(entries.length - 1, Math.max(0, to));
    setAt(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const act = (action: Decision["action"], content?: string) => {
    if (decide.isPending) return;
    decide.mutate(
      { id: entry.memory.id, action, ...(content !== undefined && { content }), ...(action === "merge" && entry.other !== null && { into: entry.other.id }) },
      { onSuccess: () => { setEditing(false); say(DONE[action], "u takes it back."); } },
    );
  };
  const takeBack = () => undo.mutate(undefined, { onSuccess: () => say("Taken back") });

  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (isWriting(event.target) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("[role=dialog]") !== null) return;
      const keys: Record<string, () => void> = {
        j: () => choose(index + 1), k: () => choose(index - 1), a: () => act("accept"), r: () => act("reject"), e: () => setEditing(true), u: takeBack,
        ...(entry.other !== null && { m: () => act("merge"), b: () => act("keep") }),
      };
      const doing = keys[event.key];
      if (doing !== undefined) {
        event.preventDefault();
        doing();
      }
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  });

  return (
    <div className="review">
      <nav className="panel flush review-nav" aria-label="Queue">
        <p className="review-count">{plural(entries.length, "statement")}</p>
        <ul ref={list}>
          {entries.map((one, number) => (
            <li key={one.memory.id + (one.other?.id ?? "")}>
              <button type="button" aria-current={number === index} onClick={() => choose(number)}>
                <Kind name={one.memory.kind} />
                <span>{one.memory.content}</span>
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <section className="panel review-one" aria-label="Decision" aria-live="polite">
        <p className="review-why">{sentence(entry.reason)}</p>
        <div className="pair" data-two={entry.other !== null || undefined}>
          <Statement name={entry.other === null ? "Statement" : "New"} memory={entry.memory} />
          {entry.other !== null && <Statement name="On record" memory={entry.other} />}
        </div>
        {entry.other !== null && (
          <p className="pair-difference">
            <span className="label">From the one on record to the new one</span>
            <br />
            <Difference before={entry.other.content} after={entry.memory.content} />
          </p>
        )}
        {editing ? (
          <Better memory={entry.memory} busy={decide.isPending} accept={(words) => act("accept", words)} cancel={() => setEditing(false)} />
        ) : (
          <Group gap={8} mt={16}>
            <Key name="Accept" keyName="a" about={entry.other === null ? "it holds" : "it ends what it contradicts"} onClick={() => act("accept")} strong />
            <Key name="Reject" keyName="r" about="not learned again" onClick={() => act("reject")} />
            <Key name="Edit, then accept" keyName="e" onClick={() => setEditing(true)} />
            {entry.other !== null && (
              <>
                <Key name="Merge" keyName="m" about="both say the same" onClick={() => act("merge")} />
                <Key name="Both hold" keyName="b" onClick={() => act("keep")} />
              </>
            )}
            <Key name="Undo" keyName="u" onClick={takeBack} />
          </Group>
        )}
        <p className="review-move">
          <Kbd>j</Kbd> <Kbd>k</Kbd> next and previous
        </p>
      </section>
    </div>
  );
}

function Statement({ name, memory }: { name: string; memory: Memory }) {
  return (
    <article className="statement">
      <h2>
        {name} <Kind name={memory.kind} />
      </h2>
      <p>{memory.content}</p>
      <p className="faint">
        {scopeOf(memory.scope)} · said by {memory.provenance.speaker}
        {memory.provenance.source !== "" && `, through ${memory.provenance.source}`} · {dateOf(memory.created_at_ms)} · confidence {memory.confidence.toFixed(2)}
      </p>
      {memory.provenance.span !== "" && memory.provenance.span !== memory.content && <p className="span">“{memory.provenance.span}”</p>}
    </article>
  );
}

function Better({ memory, busy, accept, cancel }: { memory: Memory; busy: boolean; accept: (words: string) => void; cancel: () => void }) {
  const [words, setWords] = useState(memory.content);
  return (
    <form
      className="better"
      onSubmit={(event) => {
        event.preventDefault();
        accept(words);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") cancel();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) accept(words);
      }}
    >
      <Textarea label="Better words" autosize minRows={3} value={words} onChange={(event) => setWords(event.currentTarget.value)} autoFocus />
      <Group gap={8} mt={8}>
        <Button type="submit" loading={busy} disabled={words.trim() === ""}>
          Accept these words
        </Button>
        <Button variant="default" onClick={cancel}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}

function Key({ name, keyName, about, onClick, strong = false }: { name: string; keyName: string; about?: string; onClick: () => void; strong?: boolean }) {
  return (
    <Button variant={strong ? "filled" : "default"} onClick={onClick} title={about} aria-keyshortcuts={keyName} rightSection={<Kbd size="xs">{keyName}</Kbd>}>
      {name}
    </Button>
  );
}

function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}${/[.!?]$/.test(reason) ? "" : "."}`;
}

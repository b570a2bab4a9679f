import "./review.css";
import { Button, Checkbox, Group, Kbd, Select, TextInput } from "@mantine/core";
import { IconArrowsLeftRight, IconSearch } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { isWriting } from "../../app/shortcuts";
import { useDecide, useDecideAll, useReview, type Decision, type Many, type ReviewFilter } from "../../api/queries";
import { useLogin } from "../../api/teams";
import type { Memory, ReviewEntry, ReviewGroups } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Difference } from "../../ui/Difference";
import { Empty } from "../../ui/Empty";
import { useFilters } from "../../ui/filters";
import { Head } from "../../ui/Head";
import { Kind } from "../../ui/Kind";
import { briefOf, sayChanged, takeBackLast } from "../../ui/said";
import { Rewrite } from "../../ui/Rewrite";
import { SavedFilters } from "../../ui/SavedFilters";
import { Origin, ShareMemory } from "../../ui/ShareMemory";
import { teamOf } from "../../ui/shared";
import { countOf, dateOf, percentOf, plural, scopeOf, speakerOf, whenOf, wordsOf } from "../../ui/words";

const DONE = { accept: "Accepted", reject: "Rejected; it is not learned again", merge: "Merged into the one on record", keep: "Both are kept" };
const CAUSES: Record<string, string> = {
  contradiction: "pair that may contradict each other",
  agent: "added by an agent",
  import: "imported",
  unconfirmed: "captured, not confirmed",
  branch: "its branch is gone",
};
const FILTERS = ["cause", "source", "kind", "scope"] as const;
type FilterName = (typeof FILTERS)[number];
const EVERY: Record<FilterName, string> = { cause: "Every reason", source: "Every source", kind: "Every kind", scope: "Every project" };

export function Component() {
  const { params, put, text, setText, words } = useFilters();
  const chosen = Object.fromEntries(FILTERS.flatMap((name) => (params.get(name) === null ? [] : [[name, [params.get(name)!]]])));
  const filter: ReviewFilter = { ...chosen, ...(words !== "" && { text: words }) };
  const filtered = Object.keys(filter).length > 0;
  const review = useReview(filter);
  // Not kept by the queue: it shows the next statement, or nothing, while the team is being asked.
  const [sharing, setSharing] = useState<Memory>();
  const decide = useDecide();
  const accept = async (memory: Memory) => {
    const { change_id } = await decide.mutateAsync({ id: memory.id, action: "accept" });
    sayChanged(`${DONE.accept}: ${briefOf(memory.content)}`, change_id);
  };
  return (
    <>
      <Head title="Review" text="Statements that nobody confirmed, and pairs that may contradict each other and that no agent settled." />
      <Answer of={review}>
        {({ pages }) => {
          const { total, waiting, groups } = pages[0]!;
          if (waiting === 0)
            return <Empty title="Nothing waits for you" text="What is captured with little confidence, comes from imports, or contradicts something on record waits here until you say a word." to="/memories" link="All memories" />;
          return (
            <>
              <div className="filters" role="search">
                <TextInput data-search aria-label="Search the queue" placeholder="Search: words in any order" leftSection={<IconSearch size={14} />} value={text} onChange={(event) => setText(event.currentTarget.value)} w={240} />
                {FILTERS.map((name) => (
                  <GroupSelect key={name} name={name} groups={groups} value={params.get(name)} set={(value) => put(name, value)} />
                ))}
                <SavedFilters />
              </div>
              {total === 0 ? (
                <Empty title="Nothing fits" text={`${plural(waiting, "statement")} wait in all. Other words, or fewer filters.`} to="/review" link="The whole queue" />
              ) : (
                <Queue
                  entries={pages.flatMap((part) => part.review)}
                  total={total}
                  pairs={groups.cause.find((group) => group.value === "contradiction")?.count ?? 0}
                  filter={filter}
                  filtered={filtered}
                  more={review.hasNextPage ? () => void review.fetchNextPage() : undefined}
                  shareAfter={setSharing}
                />
              )}
            </>
          );
        }}
      </Answer>
      {sharing !== undefined && (
        <ShareMemory memory={sharing} first={{ name: "Accept and ask to share", act: () => accept(sharing) }} close={() => setSharing(undefined)} />
      )}
    </>
  );
}

/** A filter that is a grouping as well: each value with how many statements it has. */
function GroupSelect({ name, groups, value, set }: { name: FilterName; groups: ReviewGroups; value: string | null; set: (value: string | null) => void }) {
  const shown = (one: string) => (name === "cause" ? (CAUSES[one] ?? one) : name === "scope" ? scopeOf(one) : wordsOf(one) || "no source");
  const data = groups[name].map((group) => ({ value: group.value, label: `${shown(group.value)} (${countOf(group.count)})` }));
  if (value !== null && !data.some((one) => one.value === value)) data.push({ value, label: `${shown(value)} (0)` });
  return <Select aria-label={EVERY[name]} placeholder={EVERY[name]} data={data} value={value} onChange={set} clearable searchable w={190} />;
}

interface QueueProps {
  entries: ReviewEntry[];
  total: number;
  /** How many of `total` are pairs: they are decided one at a time. */
  pairs: number;
  filter: ReviewFilter;
  filtered: boolean;
  more: (() => void) | undefined;
  /** Accept a statement and ask a team to share it. */
  shareAfter: (memory: Memory) => void;
}

function Queue({ entries, total, pairs, filter, filtered, more, shareAfter }: QueueProps) {
  const [at, setAt] = useState(0);
  const [editing, setEditing] = useState(false);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [every, setEvery] = useState(false);
  const decide = useDecide();
  const decideAll = useDecideAll();
  const shares = useLogin() != null;
  const index = Math.min(at, entries.length - 1);
  const entry = entries[index];
  const list = useRef<HTMLUListElement>(null);
  const key = JSON.stringify(filter);
  useEffect(() => {
    setMarked(new Set());
    setEvery(false);
    setAt(0);
  }, [key]);
  useEffect(() => {
    if (more !== undefined && index >= entries.length - 10) more();
  }, [index, entries.length, more]);

  const choose = (to: number) => {
    setEditing(false);
    const next = Math.min(entries.length - 1, Math.max(0, to));
    setAt(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const mark = (id: string) => {
    setEvery(false);
    setMarked((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  };
  const act = (action: Decision["action"], content?: string) => {
    if (decide.isPending || entry === undefined) return;
    decide.mutate(
      { id: entry.memory.id, action, ...(content !== undefined && { content }), ...(action === "merge" && entry.other !== null && { into: entry.other.id }) },
      { onSuccess: ({ change_id }) => { setEditing(false); sayChanged(doneOf(action, entry, content), change_id); } },
    );
  };
  const share = shares && entry?.other === null && teamOf(entry.memory) === "" ? () => shareAfter(entry.memory) : undefined;
  const single = total - pairs;
  const count = every ? single : marked.size;
  const actOnMany = (action: "accept" | "reject") => {
    const many: Many = every ? { where: filter, count: single } : { ids: [...marked] };
    decideAll.mutate(
      { action, many },
      { onSuccess: ({ decided, change_id }) => { setMarked(new Set()); setEvery(false); sayChanged(`${DONE[action].split(";")[0]}: ${plural(decided, "statement")}`, change_id); } },
    );
  };

  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (isWriting(event.target) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("[role=dialog]") !== null) return;
      // Where one of two statements ends, the key needs Shift: nothing ends by a key that is pressed again and again.
      const move = { j: () => choose(index + 1), k: () => choose(index - 1) };
      const decisions: Record<string, () => void> =
        entry?.other != null
          ? { b: () => act("keep"), R: () => act("accept"), D: () => act("reject"), M: () => act("merge") }
          : { a: () => act("accept"), r: () => act("reject"), e: () => setEditing(true), ...(entry !== undefined && { x: () => mark(entry.memory.id) }) };
      const keys: Record<string, () => void> = { ...move, ...decisions, ...(share !== undefined && { s: share }) };
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
        <p className="review-count">{plural(total, "statement")}</p>
        {single > 0 && (
        <div className="review-many">
          <Checkbox
            size="xs"
            label={every ? `All ${countOf(single)} chosen` : `Choose all ${countOf(single)}${pairs > 0 ? " that are no pair" : filtered ? " that fit" : ""}`}
            checked={every}
            indeterminate={!every && marked.size > 0}
            onChange={() => { setMarked(new Set()); setEvery((before) => !before && marked.size === 0); }}
          />
          {count > 0 && (
            <Group gap={6}>
              <Button size="compact-xs" loading={decideAll.isPending} onClick={() => actOnMany("accept")}>
                Accept {countOf(count)}
              </Button>
              <Button size="compact-xs" variant="default" loading={decideAll.isPending} onClick={() => actOnMany("reject")}>
                Reject {countOf(count)}
              </Button>
            </Group>
          )}
        </div>
        )}
        <ul ref={list} onScroll={(event) => { const box = event.currentTarget; if (more !== undefined && box.scrollTop + box.clientHeight > box.scrollHeight - 400) more(); }}>
          {entries.map((one, number) => (
            <li key={one.memory.id + (one.other?.id ?? "")}>
              {one.other === null ? (
                <Checkbox size="xs" aria-label={`Choose: ${briefOf(one.memory.content)}`} checked={every || marked.has(one.memory.id)} onChange={() => mark(one.memory.id)} />
              ) : (
                <IconArrowsLeftRight size={15} aria-label="pair" className="faint" />
              )}
              <button type="button" aria-current={number === index} onClick={() => choose(number)}>
                <Kind name={one.memory.kind} />
                <span>{one.memory.content}</span>
              </button>
            </li>
          ))}
        </ul>
      </nav>
      {entry !== undefined && (
        <section className="panel review-one" aria-label="Decision" aria-live="polite">
          <p className="review-why">{sentence(entry.reason)}</p>
          {entry.other === null ? (
            <div className="pair">
              <Statement name="Statement" memory={entry.memory} />
            </div>
          ) : (
            <Pair entry={entry} act={act} />
          )}
          {entry.other === null &&
            (editing ? (
              <Rewrite key={entry.memory.id} label="Better words" given={entry.memory.content} name="Accept these words" busy={decide.isPending} done={(words) => act("accept", words)} cancel={() => setEditing(false)} />
            ) : (
              <div className="review-keys">
                <Key name="Accept" keyName="a" about="it holds" onClick={() => act("accept")} strong />
                <Key name="Reject" keyName="r" about="not learned again" onClick={() => act("reject")} />
                <Key name="Edit, then accept" keyName="e" onClick={() => setEditing(true)} />
                {share !== undefined && <Key name="Accept and share" keyName="s" about="it holds, and a team is asked to share it" onClick={share} />}
                <Key name="Undo" keyName="u" about="the last change that this page made" onClick={() => void takeBackLast()} />
              </div>
            ))}
          {entry.other !== null && entry.alike && (
            <p className="pair-difference">
              <span className="label">From the one on record to the one in question</span>
              <br />
              <Difference before={entry.other.content} after={entry.memory.content} />
            </p>
          )}
          <p className="review-move">
            <Kbd>j</Kbd> <Kbd>k</Kbd> next and previous{entry.other === null && <>, <Kbd>x</Kbd> choose for a decision on many</>}
          </p>
        </section>
      )}
    </div>
  );
}

/** Two statements of which perhaps only one holds, the older first, and what can be done about them. */
function Pair({ entry, act }: { entry: ReviewEntry; act: (action: Decision["action"]) => void }) {
  const { memory, other } = entry;
  const { asked, standing } = agesOf(entry);
  const two = [<Statement key={memory.id} name={`The ${asked}`} memory={memory} />, <Statement key={other!.id} name={`The ${standing}`} memory={other!} />];
  return (
    <>
      <div className="pair" data-two>
        {asked === "older" ? two : two.reverse()}
      </div>
      <div className="review-keys">
        <Key name="Keep both" keyName="b" about="they do not contradict each other" onClick={() => act("keep")} strong />
        <Key name={`Replace the ${standing}`} keyName="Shift R" about={`the ${asked} holds, the ${standing} ends`} onClick={() => act("accept")} />
        <Key name={`Drop the ${asked}`} keyName="Shift D" about={`the ${standing} stays as it is; the ${asked} is not learned again`} onClick={() => act("reject")} />
        <Key name="Merge" keyName="Shift M" about={`both say the same: the ${standing} stays, with the words of the ${asked} as evidence`} onClick={() => act("merge")} />
        <Key name="Undo" keyName="u" about="the last change that this page made" onClick={() => void takeBackLast()} />
      </div>
    </>
  );
}

/** Which of a pair is the older one: the one in question, or the one on record. */
function agesOf({ memory, other }: ReviewEntry): { asked: string; standing: string } {
  return other !== null && memory.created_at_ms < other.created_at_ms ? { asked: "older", standing: "newer" } : { asked: "newer", standing: "older" };
}

/** What a decision did, in the words of its button. */
function doneOf(action: Decision["action"], entry: ReviewEntry, content: string | undefined): string {
  const { asked, standing } = agesOf(entry);
  const brief = briefOf(content ?? entry.memory.content);
  if (entry.other === null || action === "keep" || action === "merge") return `${DONE[action]}: ${brief}`;
  return action === "accept" ? `Replaced the ${standing}: ${briefOf(entry.other.content)}` : `Dropped the ${asked}: ${brief}`;
}

function Statement({ name, memory }: { name: string; memory: Memory }) {
  return (
    <article className="statement">
      <h2>
        {name} <Kind name={memory.kind} /> <time title={whenOf(memory.created_at_ms)}>{dateOf(memory.created_at_ms)}</time>
      </h2>
      <p>{memory.content}</p>
      <p className="faint">
        {scopeOf(memory.scope)} · said by {speakerOf(memory.provenance.speaker)}
        {memory.provenance.source !== "" && memory.provenance.source !== memory.provenance.speaker && `, through ${memory.provenance.source}`}
        {memory.confidence < 1 && ` · sure of it by ${percentOf(memory.confidence)}`}
      </p>
      <Origin memory={memory} />
      {memory.provenance.span !== "" && memory.provenance.span !== memory.content && <p className="span">“{memory.provenance.span}”</p>}
    </article>
  );
}

function Key({ name, keyName, about, onClick, strong = false }: { name: string; keyName: string; about?: string; onClick: () => void; strong?: boolean }) {
  return (
    <Button variant={strong ? "filled" : "default"} onClick={onClick} title={about} aria-keyshortcuts={keyName.replace(" ", "+")} rightSection={<Kbd size="xs">{keyName.replace("Shift ", "⇧")}</Kbd>}>
      {name}
    </Button>
  );
}

function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}${/[.!?]$/.test(reason) ? "" : "."}`;
}

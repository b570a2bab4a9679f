import { useVirtualizer } from "@tanstack/react-virtual";
import { IconPin } from "@tabler/icons-react";
import { memo, useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { isWriting } from "../../app/shortcuts";
import { PAGE_ROWS, useMemoryPages, type MemoryFilter } from "../../api/queries";
import type { Memory } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Kind } from "../../ui/Kind";
import { State } from "../../ui/State";
import { dateOf, plural, scopeOf } from "../../ui/words";

const ROW_PX = 38;
/** What the date column shows: the time that the list is ordered by. */
const DATED: Record<string, string> = { created: "stored", updated: "changed", importance: "stored", used: "stored" };
const OVERSCAN = 12;
const AHEAD = PAGE_ROWS / 2; // rows beyond those drawn that are asked for, so that they are there when they come

interface Props {
  filter: MemoryFilter;
  filtered: boolean;
  chosen: string | undefined;
  open: (id: string) => void;
}

/** All memories as one long list of which only what is looked at is asked for and drawn. */
export function MemoryList({ filter, filtered, chosen, open: openNow }: Props) {
  const open = useStable(openNow);
  const box = useRef<HTMLDivElement>(null);
  const [total, setTotal] = useState<number>();
  const [at, setAt] = useState(0);
  const key = JSON.stringify(filter);
  const rows = useVirtualizer({ count: total ?? 0, getScrollElement: () => box.current, estimateSize: () => ROW_PX, overscan: OVERSCAN, useFlushSync: false });
  const items = rows.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const pages = useMemo(() => {
    const from = Math.floor(Math.max(0, first - AHEAD) / PAGE_ROWS);
    const to = Math.floor(Math.max(0, Math.min((total ?? 1) - 1, last + AHEAD)) / PAGE_ROWS);
    return Array.from({ length: to - from + 1 }, (_, number) => from + number);
  }, [first, last, total]);
  const asked = useMemoryPages(filter, pages);
  const known = asked.find((one) => one.data !== undefined)?.data;
  const problem = asked.find((one) => one.error !== null)?.error;
  useEffect(() => {
    if (known !== undefined) setTotal(known.total ?? known.memories.length);
  }, [known]);
  useEffect(() => {
    setAt(0);
    box.current?.scrollTo(0, 0);
  }, [key]);

  const memoryAt = (index: number): Memory | undefined => asked[pages.indexOf(Math.floor(index / PAGE_ROWS))]?.data?.memories[index % PAGE_ROWS];

  const move = (to: number) => {
    const next = Math.min((total ?? 1) - 1, Math.max(0, to));
    setAt(next);
    rows.scrollToIndex(next);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus());
  };
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      if (isWriting(event.target) || chosen !== undefined || event.ctrlKey || event.metaKey) return;
      if (event.key === "j") move(document.activeElement?.hasAttribute("data-row") === true ? at + 1 : at);
      if (event.key === "k") move(at - 1);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  });
  const onKey = useStable((event: KeyboardEvent, index: number) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      move(index + step);
    }
    if (event.key === "Home") move(0);
    if (event.key === "End") move((total ?? 1) - 1);
  });

  if (problem !== undefined && problem !== null) return <ProblemBox error={problem} />;
  if (total === 0)
    return filtered ? (
      <Empty title="No memory matches" text="Other words, or fewer filters. Review holds what still waits for your word." to="/review" link="To the review queue" />
    ) : (
      <Empty title="Nothing is remembered yet" text="State something yourself, or let a project's rule files be read." command={'tacit remember "Run make lint before every commit." --when commit\ntacit init'} />
    );
  return (
    <div className="panel flush memories">
      <div className="memory-head" aria-hidden>
        <span>kind</span>
        <span>{total === undefined ? "" : plural(total, "memory", "memories")}</span>
        <span>scope</span>
        <span>importance</span>
        <span>used</span>
        <span>{DATED[filter.order ?? "created"]}</span>
      </div>
      <div className="memory-box" ref={box} tabIndex={-1}>
        <ul style={{ height: rows.getTotalSize() }} aria-busy={total === undefined} aria-label={total === undefined ? "Loading" : `${total} memories`}>
          {items.map((item) => {
            const memory = memoryAt(item.index);
            return (
              <li key={item.key} style={{ transform: `translateY(${item.start}px)` }} aria-posinset={item.index + 1} aria-setsize={total}>
                {memory === undefined ? (
                  <span className="memory bones">
                    <i />
                  </span>
                ) : (
                  <Row memory={memory} dateMs={filter.order === "updated" ? memory.updated_at_ms : memory.created_at_ms} index={item.index} chosen={memory.id === chosen} reachable={item.index === at} setAt={setAt} onKey={onKey} open={open} />
                )}
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

interface RowProps {
  memory: Memory;
  dateMs: number;
  index: number;
  chosen: boolean;
  reachable: boolean;
  setAt: (index: number) => void;
  onKey: (event: KeyboardEvent, index: number) => void;
  open: (id: string) => void;
}

/** One line. It is drawn anew only when it is another one: the list moves under the wheel. */
const Row = memo(function Row({ memory, dateMs, index, chosen, reachable, setAt, onKey, open }: RowProps) {
  return (
    <button
      type="button"
      className="memory"
      data-row={index}
      data-chosen={chosen || undefined}
      data-status={memory.status}
      tabIndex={reachable ? 0 : -1}
      onFocus={() => setAt(index)}
      onKeyDown={(event) => onKey(event, index)}
      onClick={() => open(memory.id)}
    >
      <Kind name={memory.kind} />
      <span className="memory-text">
        {memory.pinned && <IconPin size={12} aria-label="pinned" />}
        {memory.status !== "active" && <State name={memory.status} />} {memory.content.slice(0, 240)}
        {memory.branch !== null && <span className="faint"> · on branch {memory.branch.name}</span>}
      </span>
      <span className="memory-scope">{scopeOf(memory.scope)}</span>
      <span className="memory-importance" aria-label={`importance ${memory.importance}`} role="img">
        <i style={{ width: `${memory.importance * 100}%` }} />
      </span>
      <span className="num faint">{memory.use_count > 0 ? memory.use_count : "·"}</span>
      <time className="num faint">{dateOf(dateMs)}</time>
    </button>
  );
});

/** The same function on every render, which does what the newest one does. */
function useStable<Arguments extends unknown[]>(given: (...values: Arguments) => void): (...values: Arguments) => void {
  const newest = useRef(given);
  newest.current = given;
  return useCallback((...values: Arguments) => newest.current(...values), []);
}

import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { IconPin, IconPinFilled } from "@tabler/icons-react";
import { memo, useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { isWriting } from "../../app/shortcuts";
import { PAGE_ROWS, useChangeEach, useMemoryPages, type MemoryFilter } from "../../api/queries";
import type { GivenTimes, Memory } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Kind } from "../../ui/Kind";
import { State } from "../../ui/State";
import { countOf, dateOf, plural, scopeOf, whenOf } from "../../ui/words";
import { Bulk, sayEach } from "./Bulk";

const NEVER: GivenTimes = { given: 0, fetched: 0, last_ms: 0 };
const PINNED = <IconPinFilled size={15} />;
const LOOSE = <IconPin size={15} />;
const ROW_PX = 38;
const PHONE_ROW_PX = 64;
const SORTED = [
  { order: "given", name: "given", most: "given most first", least: "given least first" },
  { order: "fetched", name: "fetched", most: "fetched most first", least: "fetched least first" },
  { order: "used", name: "used", most: "used most first", least: "used least first" },
  { order: "last", name: "last", most: "given last first", least: "given longest ago first" },
  { order: "created", name: "stored", most: "newest first", least: "oldest first" },
] as const;
const CHANGED = { order: "updated", name: "changed", most: "changed last first", least: "unchanged for longest first" } as const;
const MOST_FOUND = 200; // where a search ends
const DIVIDER_PX = 26;
const OVERSCAN = 12;
const AHEAD = PAGE_ROWS / 2; // rows beyond those drawn that are asked for, so that they are there when they come

interface Props {
  filter: MemoryFilter;
  filtered: boolean;
  order: string;
  ascending: boolean;
  setOrder: (order: string, ascending: boolean) => void;
  chosen: string | undefined;
  open: (id: string) => void;
}

/** All memories as one long list of which only what is looked at is asked for and drawn. */
export function MemoryList({ filter, filtered, order, ascending, setOrder, chosen, open: openNow }: Props) {
  const open = useStable(openNow);
  const rowPx = useMediaQuery("(max-width: 860px)", undefined, { getInitialValueInEffect: false }) === true ? PHONE_ROW_PX : ROW_PX;
  const [picked, setPicked] = useState<ReadonlyMap<string, Memory>>(new Map());
  const lastPick = useRef(0);
  const change = useChangeEach();
  const box = useRef<HTMLDivElement>(null);
  const [total, setTotal] = useState<number>();
  const [at, setAt] = useState(0);
  const key = JSON.stringify(filter);
  const [matched, setMatched] = useState(Infinity); // the rows from here on are near, and no match
  const rows = useVirtualizer({ count: total ?? 0, getScrollElement: () => box.current, estimateSize: (index) => rowPx + (index === matched ? DIVIDER_PX : 0), overscan: OVERSCAN, useFlushSync: false });
  const items = rows.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const pages = useMemo(() => {
    const from = Math.floor(Math.max(0, first - AHEAD) / PAGE_ROWS);
    const to = Math.floor(Math.max(0, Math.min((total ?? 1) - 1, last + AHEAD)) / PAGE_ROWS);
    return Array.from({ length: to - from + 1 }, (_, number) => from + number);
  }, [first, last, total]);
  const asked = useMemoryPages(filter, pages);
  // What is chosen as it is now: a change here, or of somebody else, made a new version of it.
  const latest = new Map(picked.size === 0 ? [] : asked.flatMap((one) => one.data?.memories ?? []).map((one) => [one.id, one]));
  const known = asked.find((one) => one.data !== undefined)?.data;
  const problem = asked.find((one) => one.error !== null)?.error;
  useEffect(() => {
    if (known === undefined) return;
    setTotal(known.total ?? known.memories.length);
    setMatched(known.matched ?? Infinity);
  }, [known]);
  useEffect(() => {
    setAt(0);
    setPicked(new Map());
    box.current?.scrollTo(0, 0);
  }, [key]);
  useEffect(() => rows.measure(), [rowPx, matched]); // eslint-disable-line react-hooks/exhaustive-deps

  const pageAt = (index: number) => asked[pages.indexOf(Math.floor(index / PAGE_ROWS))]?.data;
  const memoryAt = (index: number): Memory | undefined => pageAt(index)?.memories[index % PAGE_ROWS];

  /** Choose a row or not; with `range` all rows from the one before to it that are there. */
  const pick = useStable((index: number, range: boolean) => {
    const memory = memoryAt(index);
    if (memory === undefined || index >= matched) return;
    const on = !picked.has(memory.id);
    const [from, to] = range ? [Math.min(lastPick.current, index), Math.max(lastPick.current, index)] : [index, index];
    lastPick.current = index;
    setPicked((before) => {
      const next = new Map(before);
      for (let row = from; row <= to; row++) {
        const one = memoryAt(row);
        if (one !== undefined && on && row < matched) next.set(one.id, one);
        else if (one !== undefined) next.delete(one.id);
      }
      return next;
    });
  });
  const pin = useStable((memory: Memory) =>
    change.mutate({ memories: [memory], act: { parts: { pinned: !memory.pinned } } }, { onSuccess: (done) => sayEach(memory.pinned ? "Unpinned" : "Pinned", [memory], done) }),
  );

  const move = (to: number) => {
    const next = Math.min((total ?? 1) - 1, Math.max(0, to));
    setAt(next);
    rows.scrollToIndex(next);
    const memory = memoryAt(next);
    if (chosen !== undefined && memory !== undefined) openNow(memory.id); // what is shown beside the list goes along
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus());
  };
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      if (isWriting(event.target) || event.ctrlKey || event.metaKey || document.querySelector("[role=dialog]") !== null) return;
      const shown = items.find((item) => memoryAt(item.index)?.id === chosen)?.index;
      const here = shown ?? at;
      if (event.key === "j") move(shown !== undefined || document.activeElement?.hasAttribute("data-row") === true ? here + 1 : here);
      if (event.key === "k") move(here - 1);
      if (event.key === "x") pick(at, false);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  });
  const before = useRef(chosen);
  useEffect(() => {
    if (before.current !== undefined && chosen === undefined) box.current?.querySelector<HTMLElement>(`[data-row="${at}"]`)?.focus();
    before.current = chosen;
  }, [chosen, at]);
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
    <div className="panel flush memories" data-order={order}>
      {picked.size > 0 && <Bulk picked={[...picked.values()].map((one) => latest.get(one.id) ?? one)} filter={filter} total={Math.min(matched, total ?? 0)} pick={(memories) => setPicked(new Map(memories.map((one) => [one.id, one])))} />}
      <div className="memory-head">
        <span>kind</span>
        <span>
          {total !== undefined && (matched >= total ? plural(total, "memory", "memories") : `${matched === 0 ? "Nothing matches" : plural(matched, "memory matches", "memories match")}; near: ${countOf(total - matched)}`)}
          {filter.text && total === MOST_FOUND && ", the best matches; add words to find others"}
        </span>
        <span>scope</span>
        {SORTED.map((column) => {
          const one = column.order === "created" && order === "updated" ? CHANGED : column;
          const sorted = order === one.order;
          const least = sorted && !ascending; // what a click shows: the other way round if it is sorted by this already
          return (
            <button key={one.order} type="button" aria-pressed={sorted} aria-label={sorted ? `${one.name}, ${ascending ? one.least : one.most}` : one.name} title={`Show the ${least ? one.least : one.most}`} onClick={() => setOrder(one.order, least)}>
              {one.name}
              {sorted && <span aria-hidden> {ascending ? "↑" : "↓"}</span>}
            </button>
          );
        })}
      </div>
      <div className="memory-box" ref={box} tabIndex={-1}>
        <ul style={{ height: rows.getTotalSize() }} aria-busy={total === undefined} aria-label={total === undefined ? "Loading" : plural(total, "memory", "memories")}>
          {items.map((item) => {
            const memory = memoryAt(item.index);
            return (
              <li key={item.key} style={{ transform: `translateY(${item.start}px)` }} aria-posinset={item.index + 1} aria-setsize={total}>
                {memory === undefined ? (
                  <span className="memory bones">
                    <i />
                  </span>
                ) : (
                  <>
                  {item.index === matched && <p className="memory-near">Near in meaning or in part; these do not have all the words</p>}
                  <Row memory={memory} times={pageAt(item.index)?.given_times[item.index % PAGE_ROWS]} near={item.index >= matched} date={order === "updated" ? "changed" : "stored"} index={item.index} chosen={memory.id === chosen} picked={picked.has(memory.id)} reachable={item.index === at} setAt={setAt} onKey={onKey} open={open} pick={pick} pin={pin} />
                  </>
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
  times: GivenTimes | undefined;
  /** Found by a search without having all its words: it is not chosen for what is done to many. */
  near: boolean;
  date: "changed" | "stored";
  index: number;
  chosen: boolean;
  picked: boolean;
  reachable: boolean;
  setAt: (index: number) => void;
  onKey: (event: KeyboardEvent, index: number) => void;
  open: (id: string) => void;
  pick: (index: number, range: boolean) => void;
  pin: (memory: Memory) => void;
}

/** One line. It is drawn anew only when it is another one: the list moves under the wheel. */
const Row = memo(function Row({ memory, times = NEVER, near, date, index, chosen, picked, reachable, setAt, onKey, open, pick, pin }: RowProps) {
  const tabIndex = reachable ? 0 : -1;
  const day = date === "changed" ? memory.updated_at_ms : memory.created_at_ms;
  return (
    <div className="memory-row" data-chosen={chosen || picked || undefined}>
      {near ? <span /> : <input type="checkbox" aria-label={`Choose: ${memory.content.slice(0, 60)}`} checked={picked} tabIndex={tabIndex} onChange={(event) => pick(index, (event.nativeEvent as MouseEvent).shiftKey)} />}
      <button
        type="button"
        className="memory"
        data-row={index}
        data-status={memory.status}
        aria-current={chosen || undefined}
        tabIndex={tabIndex}
        onFocus={() => setAt(index)}
        onKeyDown={(event) => onKey(event, index)}
        onClick={() => open(memory.id)}
      >
        <Kind name={memory.kind} />
        <span className="memory-text">
          {memory.status !== "active" && <State name={memory.status} />} {memory.content.slice(0, 240)}
          {memory.branch !== null && <span className="faint"> · on branch {memory.branch.name}</span>}
        </span>
        <span className="memory-scope">{scopeOf(memory.scope)}</span>
        <span className="num" title={`given ${times.given} times`}>{times.given}</span>
        <span className="num" title={`fetched ${times.fetched} times by agents`}>{times.fetched}</span>
        <span className="num" title={`used in ${memory.use_count} sessions`}>{memory.use_count}</span>
        <span className="num faint" title={times.last_ms > 0 ? `given last ${whenOf(times.last_ms)}` : undefined}>{times.last_ms > 0 ? dateOf(times.last_ms) : "never"}</span>
        <time className="num faint" title={`${date} ${whenOf(day)}`}>{dateOf(day)}</time>
      </button>
      <button type="button" className="memory-pin" aria-pressed={memory.pinned} aria-label={memory.pinned ? "Unpin" : "Pin"} title={memory.pinned ? "Pinned: packed first where a preset pins" : "Pin"} tabIndex={tabIndex} onClick={() => pin(memory)}>
        {memory.pinned ? PINNED : LOOSE}
      </button>
    </div>
  );
});

/** The same function on every render, which does what the newest one does. */
function useStable<Arguments extends unknown[]>(given: (...values: Arguments) => void): (...values: Arguments) => void {
  const newest = useRef(given);
  newest.current = given;
  return useCallback((...values: Arguments) => newest.current(...values), []);
}

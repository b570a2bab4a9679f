import "./palette.css";
import { Modal, TextInput, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { useFoundMemories } from "../api/queries";
import { AddMemory } from "../pages/memories/AddMemory";
import { Kind } from "../ui/Kind";
import { takeBackLast, useLastOwnChange } from "../ui/said";
import { PLACES } from "./Shell";

interface Entry {
  id: string;
  group: "Pages" | "Actions" | "Memories";
  words: string;
  /** A kind of memory. */
  kind?: string;
  /** Further words by which it is found. */
  also?: string;
  act: () => void;
}

const MOST_MEMORIES = 8;

/** One field to reach every page, action and memory. Arrows choose, Enter opens, Escape closes. */
export default function Palette({ close, openHelp }: { close: () => void; openHelp: () => void }) {
  const [text, setText] = useState("");
  const [words] = useDebouncedValue(text.trim(), 150);
  const [at, setAt] = useState(0);
  const [adding, setAdding] = useState(false);
  const chosen = useRef<HTMLLIElement>(null);
  const found = useFoundMemories(words);
  const entries = [...useEntries(text.trim(), { close, openHelp, add: () => setAdding(true) }), ...useMemoryEntries(words === "" ? [] : (found.data ?? []), close)];
  const index = Math.min(at, Math.max(0, entries.length - 1));
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [index]);
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    if (steps[event.key] !== undefined && entries.length > 0) setAt((index + steps[event.key]! + entries.length) % entries.length);
    else if (event.key === "Home" && event.ctrlKey) setAt(0);
    else if (event.key === "Enter") entries[index]?.act();
    else return;
    event.preventDefault();
  };
  if (adding) return <AddMemory opened close={close} />;
  let group = "";
  return (
    <Modal.Root opened onClose={close} size="lg" padding={0} yOffset="12dvh" transitionProps={{ duration: 0 }}>
      <Modal.Overlay />
      <Modal.Content aria-label="Find a page, an action or a memory">
        <TextInput
          className="palette-field"
          variant="unstyled"
          size="md"
          leftSection={<IconSearch size={17} />}
          placeholder="A page, an action, or words of a memory"
          aria-label="Find"
          role="combobox"
          aria-expanded
          aria-controls="palette-list"
          aria-autocomplete="list"
          aria-activedescendant={entries[index] === undefined ? undefined : `palette-${index}`}
          value={text}
          onChange={(event) => { setText(event.currentTarget.value); setAt(0); }}
          onKeyDown={onKey}
          data-autofocus
        />
        <ul className="palette" id="palette-list" role="listbox" aria-label="Found">
          {entries.map((entry, number) => {
            const heading = entry.group !== group ? entry.group : undefined;
            group = entry.group;
            return [
              heading !== undefined && (
                <li key={heading} role="presentation" className="palette-group">
                  {heading}
                </li>
              ),
              <li key={entry.id} id={`palette-${number}`} role="option" aria-selected={number === index} ref={number === index ? chosen : null} onClick={entry.act} onMouseMove={() => setAt(number)}>
                {entry.kind !== undefined && <Kind name={entry.kind} />}
                <span>{entry.words}</span>
              </li>,
            ];
          })}
        </ul>
        <p className="palette-none" role="status">
          {entries.length === 0 && !found.isFetching && words === text.trim() ? "Nothing has these words." : ""}
        </p>
      </Modal.Content>
    </Modal.Root>
  );
}

/** Pages and actions that have all words, in any order. */
function useEntries(text: string, { close, openHelp, add }: { close: () => void; openHelp: () => void; add: () => void }): Entry[] {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  const own = useLastOwnChange();
  const go = (to: string) => () => {
    close();
    void navigate(to);
  };
  const then = (act: () => void) => () => {
    close();
    act();
  };
  const known: Omit<Entry, "id">[] = [
    ...PLACES.map(({ to, label }) => ({ group: "Pages" as const, words: label, act: go(to) })),
    { group: "Actions", words: "Remember something", also: "add new memory statement", act: add },
    ...(own === undefined ? [] : [{ group: "Actions" as const, words: `Undo: ${own.title}`, also: "take back last change", act: then(() => void takeBackLast()) }]),
    { group: "Actions", words: "See what was changed", also: "change log history undo", act: go("/data/changes") },
    { group: "Actions", words: "Export memories", also: "download markdown jsonl", act: go("/data/export") },
    { group: "Actions", words: "Import memories", also: "upload file mem0 claude-mem sugar rules", act: go("/data/import") },
    { group: "Actions", words: "Purge memories", also: "remove delete for good", act: go("/data/remove") },
    { group: "Actions", words: "Redact secrets", also: "rescan remove", act: go("/data/remove") },
    { group: "Actions", words: "Back up or restore the store", also: "backup copy", act: go("/data/backups") },
    { group: "Actions", words: "Compare with and without memory", also: "holdout trial", act: go("/sessions/comparison") },
    { group: "Actions", words: "Check the store", also: "health doctor vectors", act: go("/") },
    { group: "Actions", words: "Try a prompt", also: "playground why not given", act: go("/try") },
    { group: "Actions", words: "Show the keyboard shortcuts", also: "keys help", act: then(openHelp) },
    { group: "Actions", words: dark ? "Switch to light" : "Switch to dark", also: "theme colors", act: then(() => setColorScheme(dark ? "light" : "dark")) },
  ];
  const parts = text.toLowerCase().split(/\s+/);
  const fits = known.filter(({ words, also = "" }) => parts.every((part) => `${words} ${also}`.toLowerCase().includes(part)));
  return fits.map((entry) => ({ ...entry, id: `${entry.group} ${entry.words}` }));
}

function useMemoryEntries(memories: readonly { id: string; kind: string; content: string }[], close: () => void): Entry[] {
  const navigate = useNavigate();
  return memories.slice(0, MOST_MEMORIES).map((memory) => ({
    id: memory.id,
    group: "Memories",
    words: memory.content,
    kind: memory.kind,
    act: () => {
      close();
      void navigate(`/memories/${memory.id}`);
    },
  }));
}

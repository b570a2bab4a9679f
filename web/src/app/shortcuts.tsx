import { Kbd, Modal, SimpleGrid, Table } from "@mantine/core";
import { useEffect, useRef } from "react";
import { useNavigate } from "react-router";
import { takeBackLast } from "../ui/said";
import { PLACES } from "./Shell";

/** Whether a key belongs to what the person is writing in. */
export function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable], [role="slider"], [role="combobox"]') !== null;
}

/** `g` and a letter goes to a page, `/` to the search field, `?` shows all. Never while somebody writes. */
export function useShortcuts(openHelp: () => void) {
  const navigate = useNavigate();
  const going = useRef(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
      if (event.key === "?") openHelp();
      else if (event.key === "u" && document.querySelector("[role=dialog]") === null) void takeBackLast();
      else if (event.key === "/") {
        const field = document.querySelector<HTMLInputElement>("[data-search]");
        if (field === null) return;
        event.preventDefault();
        field.focus();
      } else if (going.current) {
        const place = PLACES.find((one) => one.key === event.key);
        going.current = false;
        event.stopImmediatePropagation(); // the letter means a page now, not what it means on this one
        if (place !== undefined) void navigate(place.to);
      } else if (event.key === "g") going.current = true;
    };
    window.addEventListener("keydown", listen, true);
    return () => window.removeEventListener("keydown", listen, true);
  }, [navigate, openHelp]);
}

const MORE: [string[], string][] = [
  [["Ctrl", "K"], "find a page, an action or a memory"],
  [["/"], "to the search field"],
  [["j", "k"], "next and previous, in lists"],
  [["Enter"], "open what is chosen"],
  [["a", "r", "e"], "in Review: accept, reject, edit a statement"],
  [["b", "⇧R", "⇧D", "⇧M"], "in Review: keep both of a pair, replace one, drop one, merge"],
  [["s"], "in Review: accept and ask a team to share it"],
  [["x"], "in Review and Memories: choose, to decide on many at once"],
  [["u"], "take back the last change that this page made"],
  [["[", "]"], "in a trace: threshold down and up"],
  [["Esc"], "close"],
  [["?"], "this list"],
];

export function ShortcutHelp({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="Keyboard shortcuts" size="xl">
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg" verticalSpacing={0}>
        <Keys rows={PLACES.map((place) => [["g", place.key], place.label])} width={70} />
        <Keys rows={MORE} width={132} />
      </SimpleGrid>
    </Modal>
  );
}

function Keys({ rows, width }: { rows: [string[], string][]; width: number }) {
  return (
    <Table verticalSpacing={5} withRowBorders={false}>
      <Table.Tbody>
        {rows.map(([keys, words]) => (
          <Row key={words} keys={keys} words={words} width={width} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Row({ keys, words, width }: { keys: string[]; words: string; width: number }) {
  return (
    <Table.Tr>
      <Table.Td w={width}>
        {keys.map((key) => (
          <Kbd key={key} mr={4}>
            {key}
          </Kbd>
        ))}
      </Table.Td>
      <Table.Td>{words}</Table.Td>
    </Table.Tr>
  );
}

import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useFoundMemories, useMemory } from "../api/queries";
import { briefOf } from "./said";

/** One memory, found by its words. */
export function MemorySelect({ label, placeholder, value, set, w }: { label: string; placeholder: string; value: string | null; set: (id: string | null) => void; w: number }) {
  const [text, setText] = useState("");
  const [words] = useDebouncedValue(text, 200);
  const chosen = useMemory(value ?? undefined).data;
  const found = useFoundMemories(words).data ?? [];
  const known = chosen === undefined || found.some((one) => one.id === chosen.id) ? found : [chosen, ...found];
  return (
    <Select
      aria-label={label}
      placeholder={placeholder}
      searchable
      clearable
      w={w}
      data={known.map((one) => ({ value: one.id, label: briefOf(one.content) }))}
      filter={({ options }) => options}
      nothingFoundMessage={words.trim() === "" ? "Words of a memory" : "No memory says that"}
      value={value}
      onChange={set}
      onSearchChange={setText}
    />
  );
}

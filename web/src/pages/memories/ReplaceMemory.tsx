import { Button, Group, Text, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useFoundMemories, useMerge, useSupersede } from "../../api/queries";
import type { Memory } from "../../api/types";
import { Kind } from "../../ui/Kind";
import { briefOf, sayChanged } from "../../ui/said";

/** What holds instead, from now on; the old statement stays in the history. */
export function SupersedeMemory({ memory, done, open }: { memory: Memory; done: () => void; open: (id: string) => void }) {
  const [content, setContent] = useState(memory.content);
  const supersede = useSupersede();
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        supersede.mutate(
          { id: memory.id, content },
          {
            onSuccess: ({ changes, change_id }) => {
              sayChanged(`Superseded: ${briefOf(memory.content)}`, change_id, "The old statement holds no longer.");
              const made = changes.find((change) => "memory" in change);
              done();
              if (made !== undefined && "memory" in made) open(made.memory.id);
            },
          },
        );
      }}
    >
      <Textarea label="What holds instead" autosize minRows={3} value={content} onChange={(event) => setContent(event.currentTarget.value)} data-autofocus />
      <Group gap={6}>
        <Button type="submit" loading={supersede.isPending} disabled={content.trim() === "" || content === memory.content}>
          Supersede
        </Button>
        <Button variant="default" onClick={done}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}

/** Let it go into another that says the same. */
export function MergeMemory({ memory, done, open }: { memory: Memory; done: () => void; close: () => void; open: (id: string) => void }) {
  const [text, setText] = useState(memory.content.slice(0, 200));
  const [words] = useDebouncedValue(text, 250);
  const found = useFoundMemories(words);
  const merge = useMerge();
  const others = (found.data ?? []).filter((other) => other.id !== memory.id).slice(0, 8);
  return (
    <div className="form">
      <TextInput label="Which memory says the same?" value={text} onChange={(event) => setText(event.currentTarget.value)} data-autofocus />
      <ul className="related">
        {others.map((other) => (
          <li key={other.id}>
            <button
              type="button"
              onClick={() =>
                merge.mutate(
                  { id: memory.id, into: other.id },
                  { onSuccess: ({ change_id }) => { sayChanged(`Merged: ${briefOf(memory.content)}`, change_id, "One statement now says it."); done(); open(other.id); } },
                )
              }
            >
              <span className="faint">merge into</span>
              <Kind name={other.kind} />
              <span className="text">{other.content}</span>
            </button>
          </li>
        ))}
      </ul>
      {others.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing similar is on record.
        </Text>
      )}
      <Button variant="default" onClick={done} w="fit-content">
        Cancel
      </Button>
    </div>
  );
}

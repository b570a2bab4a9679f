import { Button, Group, Text, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useFoundMemories, useMerge, useSupersede } from "../../api/queries";
import type { Memory } from "../../api/types";
import { Difference } from "../../ui/Difference";
import { Kind } from "../../ui/Kind";
import { briefOf, sayChanged } from "../../ui/said";
import { scopeOf } from "../../ui/words";

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
              if (made !== undefined && "memory" in made && made.memory !== null) open(made.memory.id);
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

/** Let it go into another of the same scope that says the same; the difference is shown before. */
export function MergeMemory({ memory, done, open }: { memory: Memory; done: () => void; open: (id: string) => void }) {
  const [text, setText] = useState(memory.content.slice(0, 200));
  const [words] = useDebouncedValue(text, 250);
  const found = useFoundMemories(words, memory.scope);
  const [target, setTarget] = useState<Memory>();
  const merge = useMerge();
  const others = (found.data ?? []).filter((other) => other.id !== memory.id && other.scope === memory.scope && other.kind !== "digest").slice(0, 8);
  const commit = (other: Memory) =>
    merge.mutate({ id: memory.id, into: other.id }, { onSuccess: ({ change_id }) => { sayChanged(`Merged: ${briefOf(memory.content)}`, change_id, "One statement now says it."); done(); open(other.id); } });
  if (target !== undefined)
    return (
      <div className="form">
        <p className="faint">The other one stays, in {scopeOf(target.scope)}, with the words of this one as evidence. From this one to the one that stays:</p>
        <p className="drawer-content">
          <Difference before={memory.content} after={target.content} />
        </p>
        <Group gap={6}>
          <Button loading={merge.isPending} onClick={() => commit(target)} data-autofocus>
            Merge into this one
          </Button>
          <Button variant="default" onClick={() => setTarget(undefined)}>
            Choose another
          </Button>
        </Group>
      </div>
    );
  return (
    <div className="form">
      <TextInput label={`Which memory of ${scopeOf(memory.scope)} says the same?`} value={text} onChange={(event) => setText(event.currentTarget.value)} data-autofocus />
      <ul className="related">
        {others.map((other) => (
          <li key={other.id}>
            <button type="button" onClick={() => setTarget(other)}>
              <span className="faint">compare</span>
              <Kind name={other.kind} />
              <span className="text">{other.content}</span>
            </button>
          </li>
        ))}
      </ul>
      {others.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing similar is on record in this scope.
        </Text>
      )}
      <Button variant="default" onClick={done} w="fit-content">
        Cancel
      </Button>
    </div>
  );
}

import { Button, Group, Select, Slider, Switch, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { ProblemError } from "../../api/client";
import { useEdit, useKinds, useMemory, type EditedParts } from "../../api/queries";
import type { KindRow, Memory } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { Difference } from "../../ui/Difference";
import { briefOf, sayChanged } from "../../ui/said";
import { wordsOf } from "../../ui/words";
import { SENSITIVITIES, type Sensitivity } from "./sensitivity";

/** Edit one memory. Whoever changed it meanwhile is not overwritten unseen. */
export function EditMemory({ memory: given, done }: { memory: Memory; done: () => void }) {
  // What the form began with; what is stored may have moved on.
  const [base, setBase] = useState(given);
  const [parts, setParts] = useState<EditedParts>(partsOf(given));
  const stored = useMemory(base.id);
  const edit = useEdit();
  const kinds = useKinds();
  const conflict = edit.error instanceof ProblemError && edit.error.problem.code === "precondition_failed";
  const now = stored.data;
  const put = <Name extends keyof EditedParts>(name: Name, value: EditedParts[Name]) => setParts((before) => ({ ...before, [name]: value }));
  const changed = changesOf(base, parts);

  const save = (memory: Memory) =>
    edit.mutate(
      { memory, parts: changed },
      {
        onSuccess: ({ change_id }) => {
          sayChanged(`Saved: ${briefOf(parts.content)}`, change_id, "The version before stays in its history.");
          done();
        },
        onError: () => void stored.refetch(),
      },
    );

  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        save(base);
      }}
    >
      <Textarea label="Statement" autosize minRows={3} maxRows={14} value={parts.content} onChange={(event) => put("content", event.currentTarget.value)} data-autofocus />
      <TextInput label="Headline" placeholder="shown in an index; empty = from the words" maxLength={60} value={parts.headline} onChange={(event) => put("headline", event.currentTarget.value)} />
      <div className="two">
        <Select label="Kind" data={kindsWith(kinds, base.kind)} value={parts.kind} onChange={(value) => put("kind", value ?? base.kind)} allowDeselect={false} />
        <TextInput label="Scope" value={parts.scope} onChange={(event) => put("scope", event.currentTarget.value)} />
      </div>
      <TextInput label="When it applies" placeholder="in words; left empty = as it is" value={parts.when} onChange={(event) => put("when", event.currentTarget.value)} />
      <Select label="Sensitivity" description={SENSITIVITIES.find((one) => one.value === parts.sensitivity)?.about} data={SENSITIVITIES} value={parts.sensitivity} onChange={(value) => put("sensitivity", (value ?? base.sensitivity) as Sensitivity)} allowDeselect={false} />
      <div>
        <span className="slider-label">
          Importance <b className="num">{parts.importance.toFixed(2)}</b>
        </span>
        <Slider min={0} max={1} step={0.05} value={parts.importance} onChange={(value) => put("importance", value)} thumbLabel="Importance" label={null} />
      </div>
      <Switch label="Pinned: packed first where a preset pins" checked={parts.pinned} onChange={(event) => put("pinned", event.currentTarget.checked)} />
      {base.branch !== null && (
        <Switch label={`Holds on all branches, not only on ${base.branch.name}`} checked={parts.all_branches === true} onChange={(event) => put("all_branches", event.currentTarget.checked || null)} />
      )}
      {conflict && now !== undefined && (
        <div className="conflict" role="alert">
          <p>
            <b>It was changed since you opened it.</b> Stored now, against what you began with:
          </p>
          <p>
            <Difference before={base.content} after={now.content} />
          </p>
          <Group gap={6}>
            <Button variant="default" onClick={() => { edit.reset(); setBase(now); setParts(partsOf(now)); }}>
              Take what is stored
            </Button>
            <Button color="orange" variant="light" onClick={() => { setBase(now); save(now); }}>
              Save mine over it
            </Button>
          </Group>
        </div>
      )}
      {edit.error !== null && !conflict && <ProblemBox error={edit.error} />}
      <Group gap={6}>
        <Button type="submit" loading={edit.isPending} disabled={Object.keys(changed).length === 0 || parts.content.trim() === "" || conflict}>
          Save
        </Button>
        <Button variant="default" onClick={done}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}

function partsOf(memory: Memory): EditedParts {
  return { content: memory.content, headline: memory.headline, kind: memory.kind, when: "", scope: memory.scope, importance: memory.importance, pinned: memory.pinned, sensitivity: memory.sensitivity, all_branches: null };
}

function changesOf(memory: Memory, parts: EditedParts): Partial<EditedParts> {
  const before = partsOf(memory);
  return Object.fromEntries(Object.entries(parts).filter(([name, value]) => value !== before[name as keyof EditedParts]));
}

function kindsWith(known: readonly KindRow[], kind: string) {
  return [...new Set([...known.map(({ name }) => name), kind])].map((name) => ({ value: name, label: wordsOf(name) }));
}

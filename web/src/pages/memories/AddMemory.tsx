import { Button, Group, Modal, Select, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useKinds, useProjects, useRemember } from "../../api/queries";
import { briefOf, sayChanged } from "../../ui/said";
import { wordsOf } from "../../ui/words";
import { SENSITIVITIES, type Sensitivity } from "./sensitivity";

const DONE: Record<string, string> = {
  add: "Remembered", merge: "It was known already", supersede: "Remembered; it ends what held before", contradict: "Remembered; it contradicts another",
  skip: "Nothing was stored", edit: "Changed", retire: "Forgotten",
};

export function AddMemory({ opened, close }: { opened: boolean; close: () => void }) {
  const [content, setContent] = useState("");
  const [kind, setKind] = useState<string | null>(null);
  const [scope, setScope] = useState<string | null>("universal");
  const [when, setWhen] = useState("");
  const [sensitivity, setSensitivity] = useState<Sensitivity | null>(null);
  const remember = useRemember();
  const projects = useProjects();
  const kinds = useKinds();
  return (
    <Modal opened={opened} onClose={close} title="Remember something" size="lg">
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          remember.mutate(
            { content, ...(kind !== null && { kind }), ...(scope !== null && { scope }), ...(when !== "" && { when }), ...(sensitivity !== null && { sensitivity }) },
            {
              onSuccess: ({ changes, change_id }) => {
                const change = changes[0];
                sayChanged(`${DONE[change?.change ?? "skip"] ?? "Done"}: ${briefOf(content)}`, change_id, change?.reason ?? "");
                setContent("");
                close();
              },
            },
          );
        }}
      >
        <Textarea label="Statement" description="One thing, whole in itself." autosize minRows={3} data-autofocus value={content} onChange={(event) => setContent(event.currentTarget.value)} required />
        <div className="two">
          <Select label="Scope" data={[{ value: "universal", label: "everywhere" }, ...(projects.data ?? []).map((row) => ({ value: row.scope, label: row.project.name }))]} value={scope} onChange={setScope} allowDeselect={false} />
          <Select label="Kind" placeholder="from the words" clearable data={kinds.map(({ name }) => ({ value: name, label: wordsOf(name) }))} value={kind} onChange={setKind} />
        </div>
        <TextInput label="When it applies" placeholder="commit; edit src/**/*.go; always" description="In words. Left out = read from the statement." value={when} onChange={(event) => setWhen(event.currentTarget.value)} />
        <Select label="Sensitivity" placeholder="as its scope says" clearable data={SENSITIVITIES} value={sensitivity} onChange={(value) => setSensitivity(value as Sensitivity | null)} />
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            Secrets are taken out before anything is stored.
          </Text>
          <Button type="submit" loading={remember.isPending} disabled={content.trim() === ""}>
            Remember
          </Button>
        </Group>
      </form>
    </Modal>
  );
}

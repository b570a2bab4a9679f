import { Button, CloseButton, CopyButton, Group, Tabs, Tooltip } from "@mantine/core";
import { IconArrowBackUp, IconArrowMerge, IconPencil, IconPin, IconReplace, IconTrash, IconZoomQuestion } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import { useChangeEach, useForget, useLastChange, useMemory } from "../../api/queries";
import type { Memory } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Kind } from "../../ui/Kind";
import { briefOf, sayChanged, takeBack } from "../../ui/said";
import { Origin, Sharing } from "../../ui/ShareMemory";
import { State } from "../../ui/State";
import { sayEach } from "./Bulk";
import { EditMemory } from "./EditMemory";
import { About, Exposures, Relations, Versions } from "./MemoryParts";
import { MergeMemory, SupersedeMemory } from "./ReplaceMemory";

type Doing = "look" | "edit" | "supersede" | "merge";

interface Props {
  id: string;
  close: () => void;
  open: (id: string) => void;
}

/** One memory beside the list, which stays in use. Where it covers the list it gets the focus. */
export function MemoryDrawer({ id, close, open }: Props) {
  const asked = useMemory(id);
  const part = useRef<HTMLElement>(null);
  useEffect(() => {
    if (window.matchMedia("(max-width: 860px)").matches) part.current?.focus();
    part.current?.scrollTo(0, 0);
  }, [id]);
  return (
    <section className="panel drawer" id="memory" ref={part} tabIndex={-1} aria-label="Memory">
      <CloseButton className="drawer-close" aria-label="Close the memory" onClick={close} />
      <Answer of={asked}>{(memory) => <Detail key={memory.id} memory={memory} open={open} />}</Answer>
    </section>
  );
}

function Detail({ memory, open }: { memory: Memory; open: (id: string) => void }) {
  const [doing, setDoing] = useState<Doing>("look");
  const forget = useForget();
  const change = useChangeEach();
  const last = useLastChange(memory.id).data;
  useEffect(() => setDoing("look"), [memory.id]);
  const look = () => setDoing("look");
  const holds = memory.status === "active" || memory.status === "quarantined";
  return (
    <>
      <Group gap={8} mb={8}>
        <Kind name={memory.kind} />
        <State name={memory.status} />
        <CopyButton value={memory.id}>
          {({ copied, copy }) => (
            <Tooltip label={copied ? "Copied" : "Copy the id"}>
              <button type="button" className="chip mono" onClick={copy} style={{ border: 0, cursor: "pointer" }}>
                {memory.id}
              </button>
            </Tooltip>
          )}
        </CopyButton>
      </Group>
      {doing === "edit" ? (
        <EditMemory memory={memory} done={look} />
      ) : (
        <>
          <p className="drawer-content">{memory.content}</p>
          <Origin memory={memory} />
          {doing === "look" && (
            <div className="drawer-actions">
              {holds && (
                <>
                  <Button variant="default" leftSection={<IconPencil size={14} />} onClick={() => setDoing("edit")}>
                    Edit
                  </Button>
                  <Button
                    variant="default"
                    leftSection={<IconPin size={14} />}
                    loading={change.isPending}
                    onClick={() => change.mutate({ memories: [memory], act: { parts: { pinned: !memory.pinned } } }, { onSuccess: (done) => sayEach(memory.pinned ? "Unpinned" : "Pinned", [memory], done) })}
                  >
                    {memory.pinned ? "Unpin" : "Pin"}
                  </Button>
                  <Button variant="default" leftSection={<IconReplace size={14} />} onClick={() => setDoing("supersede")}>
                    Supersede
                  </Button>
                  <Button variant="default" leftSection={<IconArrowMerge size={14} />} onClick={() => setDoing("merge")}>
                    Merge
                  </Button>
                  <Button
                    variant="default"
                    c="var(--bad)"
                    leftSection={<IconTrash size={14} />}
                    loading={forget.isPending}
                    onClick={() => forget.mutate(memory.id, { onSuccess: ({ change_id }) => sayChanged(`Forgotten: ${briefOf(memory.content)}`, change_id, "Never recalled again.") })}
                  >
                    Forget
                  </Button>
                </>
              )}
              <Button variant="default" leftSection={<IconZoomQuestion size={14} />} component={Link} to={`/try?memory=${memory.id}`}>
                Why not given?
              </Button>
              <Sharing memory={memory} />
              {last !== undefined && last !== null && (
                <Tooltip label={`Take back its last change: ${last.reason}`}>
                  <Button
                    variant="default"
                    leftSection={<IconArrowBackUp size={14} />}
                    onClick={() => void takeBack({ ids: [last.change_id], title: `${last.reason}: ${briefOf(last.memory.content)}` }, memory.id)}
                  >
                    Undo
                  </Button>
                </Tooltip>
              )}
            </div>
          )}
          {doing === "supersede" && <SupersedeMemory memory={memory} done={look} open={open} />}
          {doing === "merge" && <MergeMemory memory={memory} done={look} open={open} />}
        </>
      )}
      <Tabs defaultValue="about" mt={14} keepMounted={false}>
        <Tabs.List mb={12}>
          <Tabs.Tab value="about">About</Tabs.Tab>
          <Tabs.Tab value="versions">Versions</Tabs.Tab>
          <Tabs.Tab value="relations">Relations</Tabs.Tab>
          <Tabs.Tab value="exposures">Injected</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="about">
          <About memory={memory} open={open} />
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <Versions id={memory.id} />
        </Tabs.Panel>
        <Tabs.Panel value="relations">
          <Relations id={memory.id} open={open} />
        </Tabs.Panel>
        <Tabs.Panel value="exposures">
          <Exposures id={memory.id} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

import { Alert, Button, Radio, Stack, TextInput } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useState } from "react";
import { type ExportFormat, useExportedCount, useReadExport, useWriteExport } from "../../api/data";
import { ProblemBox } from "../../ui/Answer";
import { Panel } from "../../ui/Panel";
import { bytesOf, dateOf, plural } from "../../ui/words";
import { ProjectSelect } from "./DataPage";

const NAMES: Record<ExportFormat, string> = { jsonl: "memories.jsonl", markdown: "memories.md" };

export function Export() {
  const [format, setFormat] = useState<ExportFormat>("jsonl");
  const [cwd, setFolder] = useState("");
  const [here, setHere] = useState(false);
  const [target, setTarget] = useState("");
  const count = useExportedCount(format, cwd).data;
  const read = useReadExport();
  const write = useWriteExport();
  const download = async () => save(await read.mutateAsync({ format, cwd }), NAMES[format].replace(".", `-${dateOf(Date.now())}.`));
  return (
    <Panel title="Export memories" sub="Tacit reads both formats again.">
      <form
        className="data-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (here) write.mutate({ format, cwd, target: target.trim() });
          else void download().catch(() => undefined); // said below
        }}
      >
        <Radio.Group label="Format" value={format} onChange={(value) => setFormat(value as ExportFormat)}>
          <Stack gap={6} mt={4}>
            <Radio value="jsonl" label="Everything, without loss (JSON lines)" description="Versions, times, triggers, relations and states, signed by this home" />
            <Radio value="markdown" label="Text to read and edit (Markdown)" description="What is remembered now" />
          </Stack>
        </Radio.Group>
        <ProjectSelect label="Scope" placeholder="The whole store" description="A project: only what may be seen from its folder" value={cwd} set={setFolder} />
        <Radio.Group label="Destination" value={here ? "file" : "download"} onChange={(value) => setHere(value === "file")}>
          <Stack gap={6} mt={4}>
            <Radio value="download" label="Download it" description="A purge cannot clean a downloaded file" />
            <Radio value="file" label="Write it to a file on this machine" description="Purges and rescans for secrets clean the file, too" />
          </Stack>
        </Radio.Group>
        {here && <TextInput label="New file" placeholder="/home/you/memories.jsonl" value={target} onChange={(event) => setTarget(event.currentTarget.value)} />}
        <p className="sub">{count === undefined || count === null ? " " : `It holds ${plural(count, "memory", "memories")}. Keep it as private as what you told Tacit.`}</p>
        <Button type="submit" leftSection={<IconDownload size={15} />} loading={read.isPending || write.isPending} disabled={here && target.trim() === ""}>
          {here ? "Write the export" : "Download the export"}
        </Button>
      </form>
      <div role="status">
        {here && write.data !== undefined && <Alert mt={12}>{`Written to ${write.data.target} (${bytesOf(write.data.bytes)}).`}</Alert>}
        {!here && read.data !== undefined && <Alert mt={12}>{`Your browser saves it (${bytesOf(new Blob([read.data]).size)}).`}</Alert>}
      </div>
      {(here ? write : read).error !== null && <ProblemBox error={(here ? write : read).error} />}
    </Panel>
  );
}

/** Hand a text to the browser as a file. */
function save(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

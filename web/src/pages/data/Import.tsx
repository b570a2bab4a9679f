import { Alert, Button, Checkbox, Code, FileInput, Group, Radio, Select, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { type ImportAsked, useImport, useImportProgress, useUndoImport } from "../../api/data";
import type { ImportedFile, ImportLine } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { Panel } from "../../ui/Panel";
import { say } from "../../ui/said";
import { Difference } from "../../ui/Difference";
import { countOf, plural } from "../../ui/words";
import { ProjectSelect } from "./DataPage";
import { PastSessions } from "./PastSessions";

const TOOLS = ["rules", "memory-md", "sugar", "mcp-memory-service", "claude-mem", "mem0", "basic-memory", "memory-bank"];
const FATES: [ImportLine["action"], string][] = [
  ["refused", "refused"], ["contradict", "contradicts another"], ["supersede", "replaces another"], ["edit", "changed"], ["add", "new"], ["merge", "merged with what is known"],
  ["forget", "forgotten"], ["removed", "deleted from the file"], ["skip", "left out"], ["unchanged", "as before"],
];
const SHOWN = 40;
const MOST_BYTES = 23_000_000; // what a request holds with the bytes of a database in it

type Options = Pick<ImportAsked, "mine" | "universal" | "any_project" | "again" | "forget_removed" | "cwd" | "project" | "tool">;

const CHOICES: { name: "mine" | "universal" | "any_project" | "again" | "forget_removed"; label: string; about: string }[] = [
  { name: "mine", label: "These statements are my own words", about: "None of them waits in review. A file that you edited needs it." },
  { name: "universal", label: "They hold in every project", about: "" },
  { name: "any_project", label: "Also memories of other projects", about: "Of a tool that keeps those of several projects" },
  { name: "again", label: "Also what was imported before", about: "Even what you have forgotten since" },
  { name: "forget_removed", label: "Forget what was deleted from an edited file", about: "" },
];

export function Import() {
  const [file, setFile] = useState<File | null>(null);
  const [here, setHere] = useState(false);
  const [path, setPath] = useState("");
  const [options, setOptions] = useState<Options>({});
  const preview = useImport();
  const run = useImport();
  const running = preview.isPending || run.isPending;
  const change = (more: Options) => {
    setOptions((now) => ({ ...now, ...more }));
    again();
  };
  const again = () => {
    preview.reset();
    run.reset();
  };
  const asked = async (dry_run: boolean, more: Options): Promise<ImportAsked> => ({ ...options, ...more, ...(here ? { path: path.trim() } : await contentOf(file!)), dry_run });
  const begin = (work: typeof run, dry_run: boolean, more: Options = {}) => void asked(dry_run, more).then((ready) => work.mutate(ready), (error: unknown) => say("This file cannot be read", String(error)));
  const large = !here && file !== null && file.size > MOST_BYTES;
  return (
    <div className="grid">
      <Panel title="Import" sub="Exports of Tacit, edited Markdown, rule files, and the memories of other tools. The format is detected by content.">
        <form
          className="data-form"
          onSubmit={(event) => {
            event.preventDefault();
            run.reset();
            begin(preview, true);
          }}
        >
          <Radio.Group label="Where it is" value={here ? "path" : "file"} onChange={(value) => { setHere(value === "path"); again(); }}>
            <Group gap={16} mt={4}>
              <Radio value="file" label="A file to upload" />
              <Radio value="path" label="A file or folder on this machine" />
            </Group>
          </Radio.Group>
          {here ? (
            <TextInput label="Path" placeholder="/home/you/.mem0/history.db" value={path} onChange={(event) => { setPath(event.currentTarget.value); again(); }} />
          ) : (
            <FileInput label="File" description={`At most ${MOST_BYTES / 1e6} MB; a larger one by its path on this machine`} size="xs" placeholder="Choose a file" styles={{ placeholder: { color: "var(--ink-3)" } }} clearable clearButtonProps={{ "aria-label": "Take the file away" }} value={file} onChange={(chosen) => { setFile(chosen); again(); }} />
          )}
          {large && (
            <Alert color="orange" title={`The file has ${Math.ceil(file.size / 1e6)} MB, and an upload ends at ${MOST_BYTES / 1e6} MB`}>
              Choose “A file or folder on this machine” above, or run <Code>tacit import PATH --dry-run</Code> in a terminal.
            </Alert>
          )}
          <details>
            <summary>Options</summary>
            <div className="data-form">
              <Select label="Tool that wrote it" placeholder="Detected by content" clearable data={TOOLS} value={options.tool ?? null} onChange={(tool) => change({ tool: tool ?? "auto" })} />
              <ProjectSelect label="Project of the statements" placeholder="None: they hold everywhere" description="For what another tool or a rule file says" value={options.cwd ?? ""} set={(cwd) => change({ cwd })} />
              <ProjectSelect label="Project for an export of Tacit" placeholder="The projects that it names" description="All its project memories go to this one" value={options.project ?? ""} set={(project) => change({ project })} />
              {CHOICES.map(({ name, label, about }) => (
                <Checkbox key={name} size="xs" label={label} {...(about !== "" && { description: about })} checked={options[name] === true} onChange={(event) => change({ [name]: event.currentTarget.checked })} />
              ))}
            </div>
          </details>
          <Button type="submit" variant={preview.data === undefined ? "filled" : "default"} loading={preview.isPending} disabled={run.isPending || large || (here ? path.trim() === "" : file === null)}>
            Show what it would do
          </Button>
        </form>
        {running && <Progress />}
        {preview.error !== null && <ProblemBox error={preview.error} />}
      </Panel>
      {run.data !== undefined ? (
        <Done report={run.data} />
      ) : (
        preview.data !== undefined && (
          <Panel title="What it would do" sub="Nothing is stored yet.">
            <Report report={preview.data} />
            {preview.data.speaks_for_user && options.mine !== true && (
              <Alert color="orange" mt={12} title="It speaks in your name">
                It holds statements in your name that this home did not sign. They wait in review.{" "}
                <Button size="compact-xs" variant="default" onClick={() => { change({ mine: true }); begin(preview, true, { mine: true }); }}>
                  They are my own words
                </Button>
              </Alert>
            )}
            {run.error !== null && <ProblemBox error={run.error} />}
            <Button mt={12} loading={run.isPending} disabled={changesOf(preview.data) === 0} onClick={() => begin(run, false)}>
              {changesOf(preview.data) === 0 ? "There is nothing to import" : `Import ${plural(changesOf(preview.data), "statement")}`}
            </Button>
          </Panel>
        )
      )}
      <PastSessions />
    </div>
  );
}

/** How many statements change something. */
function changesOf({ counts }: ImportedFile): number {
  return (["add", "merge", "supersede", "contradict", "edit", "forget"] as const).reduce((sum, action) => sum + (counts[action] ?? 0), 0);
}

function Progress() {
  const job = useImportProgress(true).data;
  const whole = job?.whole ?? 0;
  const words = job == null || job.done === 0 ? "It begins" : whole > 0 ? `${countOf(job.done)} of ${plural(whole, "statement")}` : plural(job.done, "statement");
  return (
    <div className="data-progress">
      <progress aria-label="Import" {...(whole > 0 && { value: job!.done, max: whole })} />
      <span className="num">{words}</span>
    </div>
  );
}

function Done({ report }: { report: ImportedFile }) {
  const [progress, setProgress] = useState({ done: 0, whole: 0 });
  const undo = useUndoImport((done, whole) => setProgress({ done, whole }));
  const added = report.counts["add"] ?? 0;
  const whole = report.change_ids.length > 0 || (added > 0 && report.lines.filter((line) => line.action === "add").length === added);
  return (
    <Panel title={undo.data !== undefined ? "Taken back" : "Imported"} className="data-done">
      <div role="status">
        {undo.data !== undefined ? (
          <p>{undo.data.left === 0 ? "The store holds what it held before." : `${plural(undo.data.left, "change")} could not be taken back, because somebody changed the same memories since.`}</p>
        ) : (
          report.unconfirmed > 0 && (
            <p>
              {plural(report.unconfirmed, "statement waits", "statements wait")} for you: <Link to="/review?cause=import">review them</Link>.
            </p>
          )
        )}
      </div>
      <Report report={report} />
      {undo.error !== null && <ProblemBox error={undo.error} />}
      {undo.data === undefined && whole && changesOf(report) > 0 && (
        <Button mt={12} variant="default" loading={undo.isPending} onClick={() => undo.mutate(report)}>
          Undo this import
        </Button>
      )}
      {undo.isPending && <progress className="data-progress" aria-label="Taking back" value={progress.done} max={Math.max(1, progress.whole)} />}
    </Panel>
  );
}

/** What becomes of each statement, and why. */
function Report({ report }: { report: ImportedFile }) {
  const [all, setAll] = useState<ImportLine["action"]>();
  const sources = report.formats.slice(0, 5).map(({ path, tool }) => `${path.split("/").at(-1)} (${tool})`);
  return (
    <Stack gap={10}>
      <p className="sub">{sources.join(", ") || "There is no statement in it."}</p>
      <p className="chips" aria-label="Statements">
        {FATES.filter(([action]) => (report.counts[action] ?? 0) > 0).map(([action, words]) => (
          <span className="chip" key={action}>
            <b className="num">{countOf(report.counts[action]!)}</b> {words}
          </span>
        ))}
      </p>
      {FATES.filter(([action]) => action !== "unchanged").map(([action, words]) => {
        const lines = report.lines.filter((line) => line.action === action);
        const count = report.counts[action] ?? 0;
        if (lines.length === 0) return null;
        const shown = all === action ? lines : lines.slice(0, SHOWN);
        return (
          <section key={action} aria-label={words}>
            <h3 className="data-fate">
              {words} <span className="faint num">{countOf(count)}</span>
            </h3>
            <ul className="data-lines">
              {shown.map((line, at) => (
                <li key={at}>
                  {line.action === "edit" && line.before !== "" ? <Difference before={line.before} after={line.text} /> : line.text || line.where}
                  {line.reason !== "" && <span className="faint"> {line.reason}</span>}
                </li>
              ))}
            </ul>
            {lines.length > shown.length && (
              <Button size="compact-xs" variant="default" onClick={() => setAll(action)}>
                Show all {countOf(lines.length)}
              </Button>
            )}
          </section>
        );
      })}
    </Stack>
  );
}

/** A chosen file as the API takes it: text, or base64 where its bytes are none. */
async function contentOf(file: File): Promise<Pick<ImportAsked, "content" | "name" | "encoding">> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes("\0")) return { content: text, name: file.name, encoding: "text" };
  } catch {
    // no text
  }
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return { content: btoa(binary), name: file.name, encoding: "base64" };
}

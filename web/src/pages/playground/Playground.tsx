import "./playground.css";
import { Button, Kbd, Select, Textarea } from "@mantine/core";
import { useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import { useDryReplay, useProjects, useRecall, type Question } from "../../api/queries";
import { TraceView } from "../../trace/TraceView";
import { ProblemBox } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { SURFACES } from "../../ui/SurfaceMark";

const TRIES = ["commit this please", "Add a debug log line when an order mail bounces", "thanks, looks good", "write tests for the declined card case"];
const PRESETS = ["focused", "typed", "ambient", "multispace", "scoped", "refresh"];

export function Component() {
  const [params] = useSearchParams();
  const projects = useProjects();
  const [text, setText] = useState(params.get("text") ?? "");
  const [cwd, setCwd] = useState<string | null>(null);
  const [surface, setSurface] = useState<Question["surface"]>("prompt");
  const [preset, setPreset] = useState<string | null>(null);
  const [asked, setAsked] = useState<Question>();
  const recall = useRecall();
  useEffect(() => {
    if (cwd === null && projects.data?.[0] !== undefined) setCwd([...projects.data].sort((a, b) => b.active - a.active)[0]!.project.root);
  }, [projects.data, cwd]);

  const ask = (words: string) => {
    if (words.trim() === "") return;
    const question: Question = { text: words, cwd: cwd ?? "", surface, preset };
    setAsked(question);
    recall.mutate(question);
  };

  return (
    <>
      <Head title="Playground" text="Type what you would type, and see what each stage keeps and drops. Nothing is stored, no session is touched." />
      <form
        className="panel playground"
        onSubmit={(event) => {
          event.preventDefault();
          ask(text);
        }}
      >
        <Textarea
          data-search
          aria-label="Prompt"
          placeholder="Add the new VAT rates for Poland"
          autosize
          minRows={2}
          maxRows={10}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(text);
          }}
        />
        <div className="playground-row">
          <Select aria-label="Project" data={(projects.data ?? []).map(({ project }) => ({ value: project.root, label: project.name }))} value={cwd} onChange={setCwd} placeholder="No project" clearable w={180} />
          <Select aria-label="Surface" data={SURFACES.filter((name) => name !== "start" && name !== "compaction").map((name) => ({ value: name, label: name.replace("_", " ") }))} value={surface} onChange={(value) => setSurface((value ?? "prompt") as Question["surface"])} allowDeselect={false} w={130} />
          <Select aria-label="Preset" data={PRESETS} value={preset} onChange={setPreset} placeholder="Preset in force" clearable w={160} />
          <Button type="submit" loading={recall.isPending} disabled={text.trim() === ""} rightSection={<Kbd size="xs">Ctrl ↵</Kbd>}>
            Ask
          </Button>
        </div>
      </form>
      {recall.error !== null && <ProblemBox error={recall.error} again={() => ask(text)} />}
      {recall.data === undefined && recall.error === null && (
        <Empty title="Try one of these" text="Two of them deserve an answer, one deserves silence. The trace says why.">
          <div className="chips">
            {TRIES.map((words) => (
              <button
                type="button"
                key={words}
                className="chip try"
                onClick={() => {
                  setText(words);
                  ask(words);
                }}
              >
                {words}
              </button>
            ))}
          </div>
        </Empty>
      )}
      {recall.data !== undefined && (
        <div className="playground-answer" aria-live="polite">
          <TraceView
            trace={recall.data.trace}
            verdicts={[]}
            judge={false}
            useOtherReplay={(threshold, enabled) => useDryReplay(asked, threshold, enabled)}
          />
        </div>
      )}
    </>
  );
}

import "./playground.css";
import { Button, Kbd, Select, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import { useDryReplay, useProjects, useRecall, useTrace, useTraces, type Question } from "../../api/queries";
import type { Trace } from "../../api/types";
import { TraceView } from "../../trace/TraceView";
import { ProblemBox } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { SURFACES } from "../../ui/SurfaceMark";

const PRESETS = ["focused", "typed", "ambient", "multispace", "scoped", "refresh"];
const TRIES = 5;

/** What is asked besides words: of a trace all that it was asked with, else what is typed. */
type Situation = Omit<Question, "text" | "cwd" | "surface" | "preset">;

export function Component() {
  const [params] = useSearchParams();
  const traceId = params.get("trace");
  const trace = useTrace(traceId ?? "", traceId !== null).data?.trace;
  const projects = useProjects();
  const [text, setText] = useState(params.get("text") ?? "");
  const [cwd, setCwd] = useState<string | null>(null);
  const [surface, setSurface] = useState<Question["surface"]>("prompt");
  const [preset, setPreset] = useState<string | null>(null);
  const [situation, setSituation] = useState<Situation>({});
  const [asked, setAsked] = useState<Question>();
  const recall = useRecall();
  const lately = useTraces({ surface: "prompt" }, 30);
  const tries = [...new Set((lately.data?.pages[0]?.recalls ?? []).map((row) => row.text.trim()))].filter((words) => words !== "" && words.length <= 120).slice(0, TRIES);

  useEffect(() => {
    if (cwd === null && trace === undefined && projects.data?.[0] !== undefined) setCwd([...projects.data].sort((a, b) => b.active - a.active)[0]!.project.root);
  }, [projects.data, cwd, trace]);
  useEffect(() => {
    if (trace === undefined || projects.data === undefined) return;
    setText(trace.asked?.text ?? trace.text);
    if (trace.surface !== "host") setSurface(trace.surface);
    setSituation(situationOf(trace));
    setPreset(PRESETS.includes(trace.preset) ? trace.preset : null);
    setCwd(projects.data.find(({ project }) => project.id === trace.project_id)?.project.root ?? null);
  }, [trace, projects.data]);

  const called = surface === "action" || surface === "failure";
  const ready = text.trim() !== "" || (called && Boolean(situation.command || situation.paths?.length || situation.error));
  const put = (more: Situation) => setSituation((before) => ({ ...before, ...more }));
  const ask = (words: string, more: Situation) => {
    const question: Question = { text: words, cwd: cwd ?? "", surface, preset, ...more };
    setAsked(question);
    recall.mutate(question);
  };

  return (
    <>
      <Head title="Try a prompt" text="Type a prompt and see what each stage keeps and drops. Nothing is stored." />
      <form
        className="panel playground"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) ask(text, situation);
        }}
      >
        {!called && (
          <Textarea
            data-search
            aria-label="Prompt"
            placeholder="yes, do it"
            autosize
            minRows={2}
            maxRows={10}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && ready) ask(text, situation);
            }}
          />
        )}
        {surface === "prompt" && (
          <Textarea
            mt={8}
            aria-label="What the agent said before"
            placeholder="What the agent said before, such as: Want me to run the linter, commit and push?"
            autosize
            minRows={1}
            maxRows={6}
            value={situation.previous ?? ""}
            onChange={(event) => put({ previous: event.currentTarget.value })}
          />
        )}
        {called && (
          <div className="playground-call">
            <TextInput label="Command" placeholder="git commit -m ..." value={situation.command ?? ""} onChange={(event) => put({ command: event.currentTarget.value })} />
            <TextInput label="Files, with commas between" placeholder="src/orders.py" value={(situation.paths ?? []).join(", ")} onChange={(event) => put({ paths: event.currentTarget.value.split(",").map((one) => one.trim()).filter(Boolean) })} />
            <TextInput label="Tool" placeholder="bash, edit, read, ..." value={situation.tool ?? ""} onChange={(event) => put({ tool: event.currentTarget.value })} />
            {surface === "failure" && <Textarea label="What it failed with" autosize minRows={1} maxRows={6} value={situation.error ?? ""} onChange={(event) => put({ error: event.currentTarget.value })} />}
          </div>
        )}
        <div className="playground-row">
          <Select aria-label="Project" data={(projects.data ?? []).map(({ project }) => ({ value: project.root, label: project.name }))} value={cwd} onChange={setCwd} placeholder="No project" clearable w={180} />
          <Select aria-label="Surface" data={SURFACES.filter((name) => name !== "start" && name !== "compaction").map((name) => ({ value: name, label: name.replace("_", " ") }))} value={surface} onChange={(value) => setSurface((value ?? "prompt") as Question["surface"])} allowDeselect={false} w={130} />
          <Select aria-label="Preset" data={PRESETS} value={preset} onChange={setPreset} placeholder="Preset in force" clearable w={160} />
          <Button type="submit" loading={recall.isPending} disabled={!ready} rightSection={<Kbd size="xs">Ctrl ↵</Kbd>}>
            Ask
          </Button>
        </div>
        {trace?.asked != null && <p className="faint">With the situation of the recall it comes from: the prompts, steps, files and memories in context then.</p>}
      </form>
      {recall.error !== null && <ProblemBox error={recall.error} again={() => ask(text, situation)} />}
      {recall.data === undefined && recall.error === null && (
        <Empty title="Try a prompt" text={tries.length > 0 ? "These are your last prompts. The trace says what each stage kept and dropped, and why." : "The trace says what each stage kept and dropped, and why."}>
          <div className="chips">
            {tries.map((words) => (
              <button
                type="button"
                key={words}
                className="chip try"
                onClick={() => {
                  setText(words);
                  ask(words, {});
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

/** What a recall was asked with, and which memories its context held. */
function situationOf({ asked, session, stages }: Trace): Situation {
  if (asked === null) return {};
  const { text: _, ...rest } = asked;
  const [host = "", ...name] = session.split("/");
  const held = stages.filter((stage) => stage.stage === "dedupe").flatMap((stage) => stage.drops.map((drop) => drop.memory_id));
  return { ...rest, held, session: name.length > 0 ? { host, session_id: name.join("/") } : null };
}

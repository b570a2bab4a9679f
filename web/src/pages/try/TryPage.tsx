import "./try.css";
import { Button, Kbd, Select, Textarea, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { useDryReplay, useMemory, useProjects, useRecall, useTrace, useTraces, type Question } from "../../api/queries";
import type { Trace } from "../../api/types";
import { TraceView } from "../../trace/TraceView";
import { ProblemBox } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { MemorySelect } from "../../ui/MemorySelect";
import { SURFACES } from "../../ui/SurfaceMark";
import { WhyNot } from "./WhyNot";

const PRESETS = ["focused", "typed", "ambient", "multispace", "scoped", "refresh"];
const TRIES = 5;

/** What is asked besides words: of a trace all that it was asked with, else what is typed. */
type Situation = Omit<Question, "text" | "cwd" | "surface" | "preset">;

export function Component() {
  const traceId = useSearchParams()[0].get("trace");
  return <Try key={traceId} traceId={traceId} />;
}

/** One place to ask: what a prompt is given, and why it is not given one memory. A trace fills in all that it was asked with, a memory its project. */
function Try({ traceId }: { traceId: string | null }) {
  const [params, setParams] = useSearchParams();
  const memoryId = params.get("memory");
  const trace = useTrace(traceId ?? "", traceId !== null).data?.trace;
  const memory = useMemory(memoryId ?? undefined).data;
  const projects = useProjects();
  const [text, setText] = useState(params.get("text") ?? "");
  const [cwd, setCwd] = useState<string | null>(null);
  const [surface, setSurface] = useState<Question["surface"]>("prompt");
  const [preset, setPreset] = useState<string | null>(null);
  const [situation, setSituation] = useState<Situation>({});
  const [asked, setAsked] = useState<{ question: Question; trace: string | undefined }>();
  const filled = useRef(false);
  const { mutate, data, error, isPending } = useRecall();
  const lately = useTraces({ surface: "prompt" }, 30);
  const tries = [...new Set((lately.data?.pages[0]?.recalls ?? []).map((row) => row.text.trim()))].filter((words) => words !== "" && words.length <= 120).slice(0, TRIES);

  const ask = (question: Question, recorded?: string) => {
    setAsked({ question, trace: recorded });
    mutate(question);
  };
  // Where it comes from decides, once: the recall's own situation, which is asked at once, else the memory's project, else the one with the most memories.
  useEffect(() => {
    const known = projects.data;
    if (known === undefined || filled.current || (traceId !== null ? trace === undefined : memoryId !== null && memory === undefined)) return;
    filled.current = true;
    if (trace === undefined) {
      const most = [...known].sort((a, b) => b.active - a.active)[0];
      setCwd((known.find((row) => row.scope === memory?.scope) ?? most)?.project.root ?? null);
      return;
    }
    const question = questionOf(trace, known.find(({ project }) => project.id === trace.project_id)?.project.root ?? "");
    const { text: words, cwd: folder, surface: where, preset: by, ...rest } = question;
    setText(words);
    setCwd(folder);
    setSurface(where);
    setPreset(by);
    setSituation(rest);
    ask(question, trace.id);
  });

  const called = surface === "action" || surface === "failure";
  const starts = surface === "start" || surface === "compaction";
  const ready = starts || text.trim() !== "" || (called && Boolean(situation.command || situation.paths?.length || situation.error));
  const put = (more: Situation) => setSituation((before) => ({ ...before, ...more }));
  const expect = (id: string | null) =>
    setParams((now) => {
      if (id === null) now.delete("memory");
      else now.set("memory", id);
      return now;
    });
  const typed = (): Question => ({ ...situation, text: starts ? "" : text, cwd: cwd ?? "", surface, preset });

  return (
    <>
      <Head title="Try a prompt" text="See what a prompt is given, and why it is not given a memory that you expected. Nothing is stored." />
      <form
        className="panel try-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) ask(typed());
        }}
      >
        {!called && !starts && (
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
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && ready) ask(typed());
            }}
          />
        )}
        {surface === "prompt" && (
          <Textarea
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
          <div className="try-call">
            <TextInput label="Command" placeholder="git commit -m ..." value={situation.command ?? ""} onChange={(event) => put({ command: event.currentTarget.value })} />
            <TextInput label="Files, with commas between" placeholder="src/orders.py" value={(situation.paths ?? []).join(", ")} onChange={(event) => put({ paths: event.currentTarget.value.split(",").map((one) => one.trim()).filter(Boolean) })} />
            <TextInput label="Tool" placeholder="bash, edit, read, ..." value={situation.tool ?? ""} onChange={(event) => put({ tool: event.currentTarget.value })} />
            {surface === "failure" && <Textarea label="What it failed with" autosize minRows={1} maxRows={6} value={situation.error ?? ""} onChange={(event) => put({ error: event.currentTarget.value })} />}
          </div>
        )}
        <div className="try-row">
          <Select aria-label="Project" data={(projects.data ?? []).map(({ project }) => ({ value: project.root, label: project.name }))} value={cwd} onChange={(folder) => setCwd(folder ?? "")} placeholder="No project" clearable w={180} />
          <Select aria-label="Surface" data={SURFACES.map((name) => ({ value: name, label: name.replace("_", " ") }))} value={surface} onChange={(value) => setSurface((value ?? "prompt") as Question["surface"])} allowDeselect={false} w={130} />
          <Select aria-label="Preset" data={[...new Set([...PRESETS, ...(preset === null ? [] : [preset])])]} value={preset} onChange={setPreset} placeholder="Preset in force" clearable w={160} />
          <MemorySelect label="A memory that you expected" placeholder="A memory that you expected" value={memoryId} set={expect} w={250} />
          <Button type="submit" loading={isPending} disabled={!ready} rightSection={<Kbd size="xs">Ctrl ↵</Kbd>}>
            Ask
          </Button>
        </div>
        {trace?.asked != null && <p className="faint">With the situation of the recall it comes from: the prompts, steps, files and memories in context then.</p>}
      </form>
      {error !== null && <ProblemBox error={error} again={() => ask(typed())} />}
      {asked === undefined && (
        <Empty title={memoryId === null ? "Which prompt?" : "Which prompt should have been given it?"} text={tries.length > 0 ? "Type one above, or choose one of your last." : "Type one above."}>
          <div className="chips">
            {tries.map((words) => (
              <button
                type="button"
                key={words}
                className="chip try"
                onClick={() => {
                  setText(words);
                  ask({ ...typed(), text: words });
                }}
              >
                {words}
              </button>
            ))}
          </div>
        </Empty>
      )}
      <div className="grid" aria-live="polite">
        {asked !== undefined && memoryId !== null && <WhyNot id={memoryId} asked={asked.question} trace={asked.trace} again={() => mutate(asked.question)} />}
        {data !== undefined && (
          <p className="panel told" data-given={data.trace.injected.length > 0 || undefined}>
            {data.trace.sentence}
          </p>
        )}
        {data !== undefined && (
          <TraceView
            trace={data.trace}
            verdicts={[]}
            judge={false}
            whyNot={expect}
            asking={memoryId !== null}
            useOtherReplay={(threshold, enabled) => useDryReplay(asked?.question, threshold, enabled)}
          />
        )}
      </div>
    </>
  );
}

/** All that a recall was asked with: words, folder, surface, preset, situation, and which memories its context held. */
function questionOf({ asked, session, stages, text, surface, preset }: Trace, cwd: string): Question {
  const [host = "", ...name] = session.split("/");
  const held = stages.filter((stage) => stage.stage === "dedupe").flatMap((stage) => stage.drops.filter((drop) => drop.why.cause === "in_context").map((drop) => drop.memory_id));
  return {
    ...asked,
    text: asked?.text || text,
    cwd,
    surface: surface === "host" ? "prompt" : surface,
    preset,
    ...(asked !== null && { held, session: name.length > 0 ? { host, session_id: name.join("/") } : null }),
  };
}

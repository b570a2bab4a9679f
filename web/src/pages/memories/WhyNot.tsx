import { Button, CopyButton, Select, Textarea } from "@mantine/core";
import { useEffect, useState } from "react";
import { useProjects, useTrace, useWhyNot, type Question } from "../../api/queries";
import type { WhyNot as Reply } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { SURFACES } from "../../ui/SurfaceMark";

/** Why a memory is not given: for a prompt that is typed, or for the recorded recall `trace`. Nothing is stored. */
export function WhyNot({ id, scope, trace }: { id: string; scope: string; trace: string | null }) {
  const projects = useProjects();
  const [text, setText] = useState("");
  const [cwd, setCwd] = useState<string | null>(null);
  const [surface, setSurface] = useState<Question["surface"]>("prompt");
  const { mutate, data, error, isPending } = useWhyNot();
  const recorded = useTrace(trace ?? "", trace !== null).data?.trace;
  const start = surface === "start" || surface === "compaction";
  const ready = start || text.trim() !== "";

  // Where it comes from decides: the recall's own project and words, else the memory's project.
  useEffect(() => {
    const known = projects.data ?? [];
    const place = recorded === undefined ? known.find((row) => row.scope === scope) : known.find(({ project }) => project.id === recorded.project_id);
    if (trace === null || recorded !== undefined) setCwd(place?.project.root ?? null);
    if (recorded === undefined) return;
    setText(recorded.asked?.text ?? recorded.text);
    if (recorded.surface !== "host") setSurface(recorded.surface);
  }, [projects.data, recorded, scope, trace]);
  useEffect(() => {
    if (trace !== null) mutate({ memory: id, trace });
  }, [id, trace, mutate]);

  const ask = () => mutate({ memory: id, text, surface, cwd: cwd ?? "" });
  return (
    <div className="why-not">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) ask();
        }}
      >
        {!start && <Textarea label="Prompt" placeholder="yes, commit it" autosize minRows={2} maxRows={8} value={text} onChange={(event) => setText(event.currentTarget.value)} />}
        <div className="why-not-row">
          <Select aria-label="Project" data={(projects.data ?? []).map(({ project }) => ({ value: project.root, label: project.name }))} value={cwd} onChange={setCwd} placeholder="No project" clearable w={170} />
          <Select aria-label="Surface" data={SURFACES.map((name) => ({ value: name, label: name.replace("_", " ") }))} value={surface} onChange={(value) => setSurface((value ?? "prompt") as Question["surface"])} allowDeselect={false} w={130} />
          <Button type="submit" loading={isPending} disabled={!ready}>
            Ask why
          </Button>
        </div>
      </form>
      {error !== null && <ProblemBox error={error} />}
      {data !== undefined && <Told reply={data} />}
    </div>
  );
}

function Told({ reply }: { reply: Reply }) {
  return (
    <section aria-live="polite" aria-label="Why it is not given">
      {reply.sentences.map((sentence, at) => (
        <p key={sentence} className={at === 0 ? (reply.given ? "why-not-first kept" : "why-not-first") : undefined}>
          {sentence}
        </p>
      ))}
      {reply.remedies.length > 0 && (
        <>
          <h3>What lets it through</h3>
          <p className="faint">Each line was tried with the same recall.</p>
          <ul>
            {reply.remedies.map((remedy) => (
              <li key={remedy.text}>
                {remedy.text}
                {remedy.steps
                  .filter((step) => step.command !== "")
                  .map((step) => (
                    <CopyButton key={step.command} value={step.command}>
                      {({ copied, copy }) => (
                        <button type="button" className="why-not-command mono" onClick={copy} aria-label={copied ? "Copied" : `Copy ${step.command}`}>
                          {step.command}
                        </button>
                      )}
                    </CopyButton>
                  ))}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

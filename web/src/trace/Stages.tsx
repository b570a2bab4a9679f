import { Button, Loader, Slider, Tooltip, VisuallyHidden } from "@mantine/core";
import { useMemo, useState } from "react";
import type { Replayed, Trace, Verdict } from "../api/types";
import { ProblemBox } from "../ui/Answer";
import { msOf, plural } from "../ui/words";
import { CandidateRow } from "./CandidateRow";
import { useSpaces } from "../api/queries";
import { bestBySpace, spaceOf, spacesOf, STAGES, STAGE_WORDS, stagesOf, type Stage, type StageView, type Track } from "./reading";

interface Props {
  trace: Trace;
  tracks: Track[];
  verdicts: Verdict[];
  threshold: number;
  setThreshold: (value: number) => void;
  replayed: Replayed | undefined;
  replaying: boolean;
  problem: unknown;
  onJudge: ((memoryId: string, useful: boolean) => void) | undefined;
  whyNot: ((memoryId: string) => void) | undefined;
  lit: string | undefined;
  setLit: (id: string | undefined) => void;
}

/** The ten stages across, the candidates down: every line runs as far as its memory came. */
export function Stages(props: Props) {
  const { trace, tracks, threshold, setThreshold } = props;
  const stages = useMemo(() => stagesOf(trace), [trace]);
  const known = useSpaces();
  const spaces = useMemo(() => spacesOf(trace, known), [trace, known]);
  const best = useMemo(() => bestBySpace(trace), [trace]);
  const [only, setOnly] = useState<Stage>();
  const [open, setOpen] = useState<string>();
  const shown = only === undefined ? tracks : tracks.filter((track) => STAGES[track.until] === only && track.fate !== "injected");
  const whole = trace.stages.find((stage) => stage.drops.some((drop) => drop.memory_id === ""));
  return (
    <section className="panel stages" aria-label="Ten stages">
      <h2>Ten stages, every candidate</h2>
      <p className="sub">
        A line runs as far as its memory came. Choose a stage to see what it stopped, a memory to see its evidence; move the gate to see what
        another threshold would have done.
      </p>
      <TimeStrip stages={stages} tookMs={trace.took_ms} />
      {tracks.length > 0 && (
        <div className="lanes" style={{ "--spaces": spaces.length } as React.CSSProperties}>
          <div className="lane-head">
            <div className="cell-memory">
              <Gate {...props} />
            </div>
            <div className="cell-evidence" aria-hidden>
              {spaces.map((space) => (
                <Tooltip key={space} label={`${space}: ${spaceOf(space, known).summary}`}>
                  <span className={`space-name fam-${spaceOf(space, known).family}`}>{space}</span>
                </Tooltip>
              ))}
            </div>
            <div className="cell-relevance">
              <span className="axis" aria-hidden>
                <span>0</span>
                <span>relevance</span>
                <span>1</span>
              </span>
              <Slider
                className="gate-slider"
                min={0}
                max={1}
                step={0.01}
                value={threshold}
                onChange={setThreshold}
                label={(value) => value.toFixed(2)}
                thumbLabel="Threshold"
                size={4}
                styles={{ root: { paddingInline: 0 } }}
              />
            </div>
            <div className="cell-track" role="group" aria-label="Show what one stage stopped">
              {stages.map((stage) => (
                <StageHead key={stage.name} stage={stage} on={only === stage.name} toggle={() => setOnly(only === stage.name ? undefined : stage.name)} />
              ))}
            </div>
            <div className="cell-judge" aria-hidden />
          </div>
          <ul className="lane-list">
            {shown.map((track) => (
              <CandidateRow
                key={track.id}
                track={track}
                spaces={spaces}
                best={best}
                threshold={threshold}
                was={trace.threshold}
                open={open === track.id}
                traceId={trace.id}
                whyNot={props.whyNot}
                toggle={() => setOpen(open === track.id ? undefined : track.id)}
                verdict={props.verdicts.find((verdict) => verdict.memory_id === track.id)}
                onJudge={props.onJudge}
                lit={props.lit === track.id}
                setLit={props.setLit}
              />
            ))}
          </ul>
          {only !== undefined && (
            <p className="only">
              {shown.length === 0 ? `Nothing was stopped at ${only}.` : `Only what ${only} stopped.`}{" "}
              <Button variant="subtle" size="compact-xs" onClick={() => setOnly(undefined)}>
                Show all {tracks.length}
              </Button>
            </p>
          )}
        </div>
      )}
      {tracks.length === 0 && (
        <p className="only">
          {whole !== undefined ? `Ended at ${whole.stage}: ${whole.drops[0]!.reason}.` : "No memory was looked at."} Nothing was searched, so there are no
          candidates.
        </p>
      )}
      <StageList stages={stages} />
    </section>
  );
}

function Gate({ trace, threshold, setThreshold, replayed, replaying, problem }: Props) {
  const moved = Math.abs(threshold - trace.threshold) > 0.005;
  return (
    <div className="gate" aria-live="polite">
      {!moved && <span className="faint">Gate at {trace.threshold.toFixed(2)}, as it was. Drag it, or press [ and ].</span>}
      {moved && (
        <>
          <b>At {threshold.toFixed(2)}:</b>{" "}
          {replayed !== undefined ? (
            <>
              {replayed.added.length === 0 && replayed.gone.length === 0 && "nothing changes."}
              {replayed.added.length > 0 && <span className="plus">{plural(replayed.added.length, "memory", "memories")} more</span>}
              {replayed.added.length > 0 && replayed.gone.length > 0 && ", "}
              {replayed.gone.length > 0 && <span className="minus">{plural(replayed.gone.length, "memory", "memories")} fewer</span>}
            </>
          ) : problem === null ? (
            "asking…"
          ) : null}{" "}
          {replaying && <Loader size={10} />}
          <Button variant="subtle" size="compact-xs" onClick={() => setThreshold(trace.threshold)}>
            Back to {trace.threshold.toFixed(2)}
          </Button>
          {problem !== null && problem !== undefined && <ProblemBox error={problem} />}
        </>
      )}
    </div>
  );
}

function StageHead({ stage, on, toggle }: { stage: StageView; on: boolean; toggle: () => void }) {
  return (
    <Tooltip
      label={
        <>
          <b>{stage.name}</b>
          {stage.ran ? `, ${msOf(stage.tookMs)}` : ", not reached"}
          <br />
          {STAGE_WORDS[stage.name]}
          {stage.notes.length > 0 && (
            <>
              <br />
              {stage.notes.join(" · ")}
            </>
          )}
        </>
      }
    >
      <button type="button" className="stage-head" aria-pressed={on} data-ran={stage.ran || undefined} data-dropped={stage.dropped > 0 || undefined} onClick={toggle}>
        <span className="stage-name">{stage.name}</span>
        <span className="stage-count num">{stage.dropped > 0 ? `−${stage.dropped}` : "·"}</span>
        <VisuallyHidden>{stage.dropped} stopped here</VisuallyHidden>
      </button>
    </Tooltip>
  );
}

/** Where the time went, one piece per stage, in order. */
function TimeStrip({ stages, tookMs }: { stages: StageView[]; tookMs: number }) {
  const inStages = stages.reduce((sum, stage) => sum + stage.tookMs, 0);
  const whole = Math.max(tookMs, inStages, 0.001);
  const between = Math.max(0, whole - inStages);
  return (
    <div className="time" role="img" aria-label={`${msOf(whole)} in all: ${stages.filter((one) => one.ran).map((one) => `${one.name} ${msOf(one.tookMs)}`).join(", ")}`}>
      {stages.map((stage, at) => (
        <Tooltip key={stage.name} label={`${stage.name}: ${msOf(stage.tookMs)}`}>
          <span className={`time-part time-${at % 2}`} style={{ width: `${(stage.tookMs / whole) * 100}%` }}>
            {stage.tookMs / whole > 0.08 && (
              <>
                {stage.name} <b className="num">{msOf(stage.tookMs)}</b>
              </>
            )}
          </span>
        </Tooltip>
      ))}
      {between / whole > 0.005 && (
        <Tooltip label={`between the stages (embedding, files, second-stage models): ${msOf(between)}`}>
          <span className="time-part time-between" style={{ width: `${(between / whole) * 100}%` }}>
            {between / whole > 0.12 && (
              <>
                between <b className="num">{msOf(between)}</b>
              </>
            )}
          </span>
        </Tooltip>
      )}
    </div>
  );
}

/** The same in words, for narrow screens and for whoever reads rather than looks. */
function StageList({ stages }: { stages: StageView[] }) {
  return (
    <details className="stage-list">
      <summary>The stages in words</summary>
      <ol>
        {stages.map((stage) => (
          <li key={stage.name} data-ran={stage.ran || undefined}>
            <b>{stage.name}</b> <span className="num faint">{stage.ran ? msOf(stage.tookMs) : "not reached"}</span>
            <span>
              {stage.kept > 0 && `${stage.kept} kept`}
              {stage.dropped > 0 && `${stage.kept > 0 ? ", " : ""}${stage.dropped} stopped`}
            </span>
            <span className="faint">{stage.notes.length > 0 ? stage.notes.join(" · ") : STAGE_WORDS[stage.name]}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

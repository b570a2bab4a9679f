import { Button, Loader, Slider, Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Replayed, Trace, Verdict } from "../api/types";
import { ProblemBox } from "../ui/Answer";
import { msOf, plural } from "../ui/words";
import { CandidateRow } from "./CandidateRow";
import { NEEDED } from "./points";
import { STAGE_WORDS, stagesOf, type StageView, type Track } from "./reading";

const FIRST = 8;

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
  /** Whether the page explains one memory already. */
  asking: boolean;
  lit: string | undefined;
  setLit: (id: string | undefined) => void;
}

/** The memories that were looked at, on one scale with the level that is needed; folded, the ten stages. The first is unfolded. */
export function Candidates(props: Props) {
  const { trace, tracks, threshold, setThreshold } = props;
  const best = props.asking ? undefined : tracks[0]?.id;
  const [open, setOpen] = useState(best);
  const [all, setAll] = useState(false);
  useEffect(() => setOpen(best), [best]);
  const most = Math.max(FIRST, trace.injected.length);
  const shown = all ? tracks : tracks.slice(0, most);
  return (
    <section className="panel" aria-label="What was looked at">
      {tracks.length === 0 ? (
        <p className="sub">No memory was looked at.</p>
      ) : (
        <>
          <div className="lane-head">
            <div>
              <h2>What was looked at</h2>
              <Gate {...props} />
            </div>
            <div className="lane-scale">
              <Slider className="gate-slider" min={0} max={1} step={0.01} value={threshold} onChange={setThreshold} label={(value) => value.toFixed(2)} thumbLabel="Level that is needed" size={4} styles={{ root: { paddingInline: 0 } }} />
            </div>
          </div>
          <ul className="lane-list">
            {shown.map((track) => (
              <CandidateRow
                key={track.id}
                track={track}
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
          {tracks.length > most && (
            <Button variant="subtle" size="compact-xs" onClick={() => setAll(!all)}>
              {all ? "Fewer" : `Show all ${tracks.length}`}
            </Button>
          )}
        </>
      )}
      <StageList trace={trace} />
    </section>
  );
}

function Gate({ trace, tracks, threshold, setThreshold, replayed, replaying, problem }: Props) {
  const moved = Math.abs(threshold - trace.threshold) > 0.005;
  return (
    <div className="gate" aria-live="polite">
      {!moved && (
        <span className="faint">
          {tracks.some(({ candidate }) => candidate !== undefined && candidate.evidence.length > 0) ? `${NEEDED} points are needed: a relevance of ${trace.threshold.toFixed(2)}.` : `${trace.threshold.toFixed(2)} is needed.`} <span className="wide">Drag the level, or press [ and ], to see what another level would give. This changes no setting.</span>
        </span>
      )}
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

/** The ten stages in order, with what each kept, stopped and noted, and where the time went. */
function StageList({ trace }: { trace: Trace }) {
  const stages = stagesOf(trace);
  return (
    <details className="fold stage-list">
      <summary>How it was decided: ten stages, {msOf(trace.took_ms)}</summary>
      <TimeStrip stages={stages} tookMs={trace.took_ms} />
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

/** Where the time went, one piece per stage, in order. */
function TimeStrip({ stages, tookMs }: { stages: StageView[]; tookMs: number }) {
  const inStages = stages.reduce((sum, stage) => sum + stage.tookMs, 0);
  const whole = Math.max(tookMs, inStages, 0.001);
  return (
    <div className="time" aria-hidden>
      {stages.map((stage, at) => (
        <Tooltip key={stage.name} label={`${stage.name}: ${msOf(stage.tookMs)}`}>
          <span className={`time-part time-${at % 2}`} style={{ width: `${(stage.tookMs / whole) * 100}%` }}>
            {stage.tookMs / whole > 0.08 && stage.name}
          </span>
        </Tooltip>
      ))}
    </div>
  );
}

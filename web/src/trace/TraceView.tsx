import "./trace.css";
import { useDebouncedValue } from "@mantine/hooks";
import type { UseQueryResult } from "@tanstack/react-query";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { isWriting } from "../app/shortcuts";
import { useReplay, useVerdict } from "../api/queries";
import type { Replayed, Trace, Verdict } from "../api/types";
import { sayProblem, say } from "../ui/said";
import { BlockText } from "./BlockText";
import { Asked } from "./Asked";
import { Candidates } from "./Candidates";
import { tracksOf } from "./reading";

const STEP = 0.01;

interface TraceViewProps {
  trace: Trace;
  verdicts: Verdict[];
  /** Whether the person may say what was useful. */
  judge?: boolean;
  /** How a trace that was not stored is decided again; left out = the stored one, by its id. A hook, the same on every render. */
  useOtherReplay?: (threshold: number, enabled: boolean) => UseQueryResult<Replayed>;
  aside?: ReactNode;
  /** Ask why a memory is not given, on this very page; left out = a link asks it of the stored trace. */
  whyNot?: (memoryId: string) => void;
  /** Whether the page explains one memory already. */
  asking?: boolean;
}

/** One recall: what was asked, what was looked at with its evidence, the block; its stages are folded. */
export function TraceView({ trace, verdicts, judge = true, useOtherReplay, aside, whyNot, asking = false }: TraceViewProps) {
  const [threshold, setThreshold] = useState(trace.threshold);
  useEffect(() => setThreshold(trace.threshold), [trace.id, trace.threshold]);
  const [asked] = useDebouncedValue(threshold, 120);
  const moved = Math.abs(asked - trace.threshold) > STEP / 2;
  const stored = useReplay(trace.id, asked, moved && useOtherReplay === undefined);
  const other = useOtherReplay?.(asked, moved);
  const replay = other ?? stored;
  const replayed = moved ? replay.data : undefined;
  const tracks = useMemo(() => tracksOf(trace, replayed), [trace, replayed]);
  const verdict = useVerdict(trace.id);
  const [lit, setLit] = useState<string>();
  useThresholdKeys(setThreshold);

  const onJudge = (memoryId: string, useful: boolean) =>
    verdict.mutate(
      { id: memoryId, useful },
      { onSuccess: () => say(useful ? "Noted as useful" : "Noted: it should not have come", "`tacit config tune` reads what you say here."), onError: sayProblem },
    );

  return (
    <div className="grid">
      <Asked trace={trace} aside={aside} />
      <Candidates
        trace={trace}
        tracks={tracks}
        verdicts={verdicts}
        threshold={threshold}
        setThreshold={setThreshold}
        replayed={replayed}
        replaying={replay.isFetching}
        problem={moved ? replay.error : null}
        onJudge={judge ? onJudge : undefined}
        whyNot={whyNot}
        asking={asking}
        lit={lit}
        setLit={setLit}
      />
      <BlockText trace={trace} lit={lit} setLit={setLit} />
    </div>
  );
}

function useThresholdKeys(setThreshold: (change: (now: number) => number) => void) {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (isWriting(event.target) || (event.key !== "[" && event.key !== "]")) return;
      const by = event.key === "[" ? -STEP : STEP;
      setThreshold((now) => Math.min(1, Math.max(0, Math.round((now + by) * 100) / 100)));
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [setThreshold]);
}

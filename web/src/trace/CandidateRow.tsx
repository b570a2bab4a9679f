import { ActionIcon, Tooltip } from "@mantine/core";
import { IconChevronRight, IconThumbDown, IconThumbDownFilled, IconThumbUp, IconThumbUpFilled } from "@tabler/icons-react";
import { Link } from "react-router";
import { useSpaces } from "../api/queries";
import type { Verdict } from "../api/types";
import { wordsOf } from "../ui/words";
import { EvidenceBars } from "./EvidenceBars";
import { NEEDED, pointsOf } from "./points";
import { STAGES, STAGE_WORDS, type Track } from "./reading";

interface Props {
  track: Track;
  threshold: number;
  was: number;
  open: boolean;
  traceId: string;
  whyNot: ((memoryId: string) => void) | undefined;
  toggle: () => void;
  verdict: Verdict | undefined;
  onJudge: ((memoryId: string, useful: boolean) => void) | undefined;
  lit: boolean;
  setLit: (id: string | undefined) => void;
}

/** One memory that was looked at: what became of it, how far it came on the scale of all, and, unfolded, what speaks for it. */
export function CandidateRow(props: Props) {
  const { track, open, toggle, setLit } = props;
  const { candidate } = track;
  return (
    <li className="lane" data-fate={track.fate} data-now={track.now} data-lit={props.lit || undefined} data-open={open || undefined} onMouseEnter={() => setLit(track.id)} onMouseLeave={() => setLit(undefined)}>
      <div className="lane-row">
        <div className="cell-memory">
          <button type="button" className="lane-open" aria-expanded={open} onClick={toggle}>
            <IconChevronRight size={14} className="chevron" aria-hidden />
            {candidate !== undefined && <span className="lane-kind">{wordsOf(candidate.kind)}</span>}
            <span className="lane-text">{candidate?.content || <span className="mono faint">{track.id}, no longer stored</span>}</span>
          </button>
          <Why track={track} />
        </div>
        <Relevance {...props} />
        <div className="cell-acts">
          {track.fate !== "injected" && <WhyNotLink {...props} />}
          <Judge {...props} />
        </div>
      </div>
      {open && <Details track={track} />}
    </li>
  );
}

function Why({ track }: { track: Track }) {
  if (track.now === "added") return <p className="lane-why plus">would be given{track.unsure ? ", unless the context held it already" : ""}</p>;
  if (track.now === "gone") return <p className="lane-why minus">would stay out</p>;
  if (track.fate === "injected") return <p className="lane-why kept">given</p>;
  return track.fate === "gated" ? null : <p className="lane-why">{track.reason}</p>;
}

function Relevance({ track, threshold, was }: Props) {
  const relevance = track.candidate?.relevance;
  const points = track.candidate === undefined ? undefined : pointsOf(track.candidate.evidence);
  return (
    <div className="relevance">
      <span className="relevance-track" aria-hidden>
        <span className="relevance-was" style={{ left: `${was * 100}%` }} />
        <span className="relevance-gate" style={{ left: `${threshold * 100}%` }} />
        {relevance !== undefined && <span className="relevance-bar" data-over={relevance >= threshold || undefined} style={{ width: `${Math.max(0.6, relevance * 100)}%` }} />}
      </span>
      <span className="relevance-number num" title={points === undefined ? undefined : `${points} of ${NEEDED} points; relevance ${relevance?.toFixed(2)}`}>
        {points ?? relevance?.toFixed(2)}
      </span>
    </div>
  );
}

function Judge({ track, verdict, onJudge }: Props) {
  if (onJudge === undefined || track.candidate === undefined) return null;
  const injected = track.fate === "injected";
  const good = injected ? "Was useful" : "Should have come";
  const bad = injected ? "Should not have been given" : "Rightly left out";
  return (
    <>
      <Tooltip label={good}>
        <ActionIcon variant="subtle" color={verdict?.useful === true ? "pine" : "gray"} aria-pressed={verdict?.useful === true} aria-label={good} onClick={() => onJudge(track.id, true)}>
          {verdict?.useful === true ? <IconThumbUpFilled size={15} /> : <IconThumbUp size={15} />}
        </ActionIcon>
      </Tooltip>
      {injected && (
        <Tooltip label={bad}>
          <ActionIcon variant="subtle" color={verdict?.useful === false ? "red" : "gray"} aria-pressed={verdict?.useful === false} aria-label={bad} onClick={() => onJudge(track.id, false)}>
            {verdict?.useful === false ? <IconThumbDownFilled size={15} /> : <IconThumbDown size={15} />}
          </ActionIcon>
        </Tooltip>
      )}
    </>
  );
}

const LONG = 90;

/** What speaks for one memory, and, folded, every single measure. */
function Details({ track }: { track: Track }) {
  const known = useSpaces();
  const { candidate } = track;
  const open = <Link className="chip chip-link" to={`/memories/${track.id}`}>open the memory</Link>;
  if (candidate === undefined)
    return (
      <div className="lane-details">
        <p className="faint">Of this memory the trace kept only why it went: {track.reason}. {open}</p>
      </div>
    );
  return (
    <div className="lane-details">
      {candidate.content.length > LONG && <p className="lane-whole">{candidate.content}</p>}
      <EvidenceBars evidence={candidate.evidence} />
      {track.fate !== "injected" && <p className="faint">Left out at “{STAGES[track.until]}”: {STAGE_WORDS[STAGES[track.until]!]}</p>}
      <div className="chips">
        {candidate.reasons.map((reason) => (
          <span className="chip" key={reason}>{reason}</span>
        ))}
        {open}
      </div>
      <details className="fold">
        <summary>Every measure</summary>
        <dl className="facts">
          {candidate.scores.map(([space, score]) => (
            <div key={space}>
              <dt>{space}</dt>
              <dd className="num">
                {score.toFixed(3)} <span className="faint">{known.find((one) => one.name === space)?.summary}</span>
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </div>
  );
}

/** Asks why the memory was not given, here or on the page for it. */
function WhyNotLink({ track, traceId, whyNot }: Props) {
  if (whyNot !== undefined)
    return (
      <button type="button" className="chip chip-link" onClick={() => whyNot(track.id)}>
        why not?
      </button>
    );
  return <Link className="chip chip-link" to={`/try?trace=${traceId}&memory=${track.id}`}>why not?</Link>;
}

import { ActionIcon, Tooltip } from "@mantine/core";
import { IconChevronRight, IconThumbDown, IconThumbDownFilled, IconThumbUp, IconThumbUpFilled } from "@tabler/icons-react";
import { Link } from "react-router";
import type { Verdict } from "../api/types";
import { useSpaces } from "../api/queries";
import { Kind } from "../ui/Kind";
import { spaceOf, STAGES, type Track } from "./reading";

interface Props {
  track: Track;
  spaces: string[];
  best: Map<string, number>;
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

const FIRST = 2; // candidates exist from retrieve on

export function CandidateRow(props: Props) {
  const { track, open, toggle, setLit } = props;
  const { candidate } = track;
  return (
    <li className="lane" data-fate={track.fate} data-now={track.now} data-lit={props.lit || undefined} data-open={open || undefined} onMouseEnter={() => setLit(track.id)} onMouseLeave={() => setLit(undefined)}>
      <div className="lane-row">
        <div className="cell-memory">
          <button type="button" className="lane-open" aria-expanded={open} onClick={toggle}>
            <IconChevronRight size={14} className="chevron" aria-hidden />
            {candidate !== undefined && <Kind name={candidate.kind} />}
            <span className="lane-text">{candidate?.content || <span className="mono faint">{track.id}, no longer stored</span>}</span>
          </button>
          <Why track={track} />
        </div>
        <Heat {...props} />
        <Relevance {...props} />
        <Line track={track} />
        <Judge {...props} />
      </div>
      {open && <Details {...props} />}
    </li>
  );
}

function Why({ track }: { track: Track }) {
  if (track.now === "added") return <p className="lane-why plus">would be injected{track.unsure ? ", unless the context held it already" : ""}</p>;
  if (track.now === "gone") return <p className="lane-why minus">would stay out</p>;
  if (track.fate === "injected") return <p className="lane-why kept">injected</p>;
  return (
    <p className="lane-why">
      <b>{STAGES[track.until]}</b> {track.reason}
    </p>
  );
}

function Heat({ track, spaces, best }: Props) {
  const known = useSpaces();
  const scores = new Map(track.candidate?.scores);
  return (
    <div className="cell-evidence heat" role="img" aria-label={`Evidence: ${[...scores].map(([space, score]) => `${space} ${score.toFixed(2)}`).join(", ") || "none"}`}>
      {spaces.map((space) => {
        const score = scores.get(space);
        const share = score === undefined ? 0 : Math.max(0, score) / Math.max(best.get(space) ?? 1, 1e-9);
        return (
          <Tooltip key={space} label={score === undefined ? `${space}: did not find it` : `${space} ${score.toFixed(3)} (best here ${(best.get(space) ?? 0).toFixed(3)})`}>
            <span className={`heat-cell fam-${spaceOf(space, known).family}`} data-none={score === undefined || undefined}>
              <i style={{ height: `${Math.round(8 + 92 * share)}%`, opacity: 0.35 + 0.65 * share }} />
            </span>
          </Tooltip>
        );
      })}
    </div>
  );
}

function Relevance({ track, threshold, was }: Props) {
  const relevance = track.candidate?.relevance;
  return (
    <div className="cell-relevance relevance">
      <span className="relevance-track">
        <span className="relevance-was" style={{ left: `${was * 100}%` }} aria-hidden />
        <span className="relevance-gate" style={{ left: `${threshold * 100}%` }} aria-hidden />
        {relevance !== undefined && (
          <>
            <span className="relevance-bar" data-over={relevance >= threshold || undefined} style={{ width: `${Math.max(0.6, relevance * 100)}%` }} aria-hidden />
          </>
        )}
      </span>
      <span className="relevance-number num">{relevance === undefined ? "" : relevance.toFixed(2)}</span>
    </div>
  );
}

function Line({ track }: { track: Track }) {
  const until = Math.max(track.until, FIRST);
  return (
    <div className="cell-track line" role="img" aria-label={track.fate === "injected" ? "came through all stages" : `came as far as ${STAGES[track.until]}`}>
      {STAGES.map((stage, at) => (
        <span key={stage} className="line-cell" data-part={at < FIRST ? "before" : at < until ? "through" : at === until ? "end" : "after"}>
          {at === until && <i />}
        </span>
      ))}
    </div>
  );
}

function Judge({ track, verdict, onJudge }: Props) {
  if (onJudge === undefined || track.candidate === undefined) return <div className="cell-judge" />;
  const injected = track.fate === "injected";
  const good = injected ? "Was useful" : "Should have come";
  const bad = injected ? "Should not have been injected" : "Rightly left out";
  return (
    <div className="cell-judge">
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
    </div>
  );
}

/** Everything that is known of one candidate. */
function Details({ track, best, spaces, traceId, whyNot }: Props) {
  const known = useSpaces();
  const { candidate } = track;
  if (candidate === undefined)
    return (
      <div className="lane-details">
        <p className="faint">
          Of this memory the trace kept only why it went: {track.reason}. <Link to={`/memories/${track.id}`}>Open the memory</Link>{" "}
          <WhyNotLink {...{ track, traceId, whyNot }} />
        </p>
      </div>
    );
  const scores = new Map(candidate.scores);
  return (
    <div className="lane-details">
      <div>
        <p className="lane-whole">{candidate.content || "This memory is no longer stored; its numbers are."}</p>
        <div className="chips">
          {candidate.reasons.map((reason) => (
            <span className="chip" key={reason}>{reason}</span>
          ))}
          <span className="chip">order score {candidate.fused.toFixed(3)}</span>
          <Link className="chip chip-link" to={`/memories/${track.id}`}>open the memory</Link>
          {track.fate !== "injected" && <WhyNotLink {...{ track, traceId, whyNot }} />}
        </div>
      </div>
      <table className="evidence">
        <caption>Evidence per space. Bars are against the best of this recall: spaces share no scale.</caption>
        <tbody>
          {spaces.map((space) => {
            const score = scores.get(space);
            return (
              <tr key={space} className={`fam-${spaceOf(space, known).family}`}>
                <th scope="row">
                  {space} <span className="faint">{spaceOf(space, known).summary}</span>
                </th>
                <td>
                  {score !== undefined && <i style={{ width: `${(Math.max(0, score) / Math.max(best.get(space) ?? 1, 1e-9)) * 100}%` }} />}
                </td>
                <td className="num">{score === undefined ? "–" : score.toFixed(3)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Asks why the memory was not given, here or on the page for it. */
function WhyNotLink({ track, traceId, whyNot }: Pick<Props, "track" | "traceId" | "whyNot">) {
  if (whyNot !== undefined)
    return (
      <button type="button" className="chip chip-link" onClick={() => whyNot(track.id)}>
        why not?
      </button>
    );
  return <Link className="chip chip-link" to={`/try?trace=${traceId}&memory=${track.id}`}>why not?</Link>;
}

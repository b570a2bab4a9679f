import "./sessions.css";
import "../../trace/trace.css";
import { Button, Tooltip } from "@mantine/core";
import { IconCheck, IconVolume, IconVolumeOff, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { useLearned, useMemory, useMute, useSession } from "../../api/queries";
import type { InjectedMemory, LearnedStatement, SessionView } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Head } from "../../ui/Head";
import { Kind } from "../../ui/Kind";
import { Panel } from "../../ui/Panel";
import { RecallList } from "../../ui/RecallList";
import { SurfaceMark } from "../../ui/SurfaceMark";
import { plural, timeOf, whenOf } from "../../ui/words";
import { LearnedPanel } from "./LearnedPanel";
import { projectOf, titleOf } from "./Sessions";

export function Component() {
  const { host = "", session = "" } = useParams();
  const asked = useSession(host, session);
  return <Answer of={asked}>{(view) => <Whole view={view} />}</Answer>;
}

function Whole({ view }: { view: SessionView }) {
  const { session } = view;
  const mute = useMute();
  const statements = useLearned(session.key).data?.learned?.statements ?? [];
  const turnsOf = (one: LearnedStatement) => (one.evidence.length > 0 ? one.evidence.map((said) => said.turn) : [0]);
  const notedIn = (turn: number) => statements.filter((one) => turnsOf(one).includes(turn));
  const told = new Set(view.turns.map((turn) => turn.turn));
  const others = [...new Set(statements.flatMap(turnsOf))].filter((turn) => !told.has(turn)).sort((a, b) => a - b);
  return (
    <>
      <Head
        title={titleOf(session)}
        text={
          <>
            {projectOf(session)}, <span className="mono">{session.key}</span>
            {session.started_at_ms > 0 && `, from ${whenOf(session.started_at_ms)}`}
            {session.turn > 0 && `; ${plural(session.turn, "turn")}`}
            {session.imported ? "; imported, so what it was given is not known" : `, ${plural(session.exposures, "memory", "memories")} given${session.ended ? "; ended" : ""}`}
          </>
        }
      >
        {!session.imported && (
        <>
        <Button
          variant="default"
          leftSection={session.muted ? <IconVolume size={15} /> : <IconVolumeOff size={15} />}
          loading={mute.isPending}
          onClick={() => mute.mutate({ host: session.host, session_id: session.session_id, muted: !session.muted })}
        >
          {session.muted ? "Unmute" : "Mute"}
        </Button>
        <Button variant="default" component={Link} to={`/traces?session=${encodeURIComponent(session.key)}`}>
          All its traces
        </Button>
        </>
        )}
      </Head>
      <LearnedPanel session={session.key} />
      <div className="session-grid">
        <ol className="turns">
          {view.turns.map((turn, at) => (
            <li key={`${turn.epoch}-${turn.turn}`}>
              {(at === 0 || view.turns[at - 1]!.epoch !== turn.epoch) && turn.epoch > 0 && <p className="epoch">The conversation was compacted or cleared here.</p>}
              <section className="panel flush turn" aria-label={`Turn ${turn.turn}`}>
                <header>
                  <h2>{turn.turn === 0 ? "Start" : `Turn ${turn.turn}`}</h2>
                  <span className="faint num">{timeOf(turn.at_ms)}</span>
                  <span className="turn-sum">{turn.exposures.length > 0 ? `${turn.exposures.length} given` : "nothing given"}</span>
                </header>
                <RecallList rows={turn.recalls} days={false} />
                <Given turn={turn} />
                <Noted statements={notedIn(turn.turn)} />
              </section>
            </li>
          ))}
          {others.map((turn) => (
            <li key={turn}>
              <section className="panel flush turn" aria-label={`Turn ${turn}`}>
                <header>
                  <h2>{turn === 0 ? "No turn is known" : `Turn ${turn}`}</h2>
                </header>
                <Noted statements={notedIn(turn)} />
              </section>
            </li>
          ))}
        </ol>
        <aside className="grid">
          <Side title="Files at hand" rows={view.files} />
          <Side title="Failures that wait for their fix" rows={view.failures.map((one) => one.command || one.error)} />
          <Side title="Rule files the host loaded" rows={view.rule_files} />
          <Side title="Tools" rows={[...new Set(view.tools)]} />
        </aside>
      </div>
    </>
  );
}

/** What was learned in a turn. */
function Noted({ statements }: { statements: LearnedStatement[] }) {
  if (statements.length === 0) return null;
  return (
    <ul className="given noted">
      {statements.map(({ memory }) => (
        <li key={memory.id}>
          <span className="faint">learned</span>
          <Link to={`/memories/${memory.id}`}>
            <Kind name={memory.kind} /> {memory.content}
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** What a turn was given. A start pack is long and much the same each time: it stays folded until somebody asks. */
function Given({ turn }: { turn: SessionView["turns"][number] }) {
  const [unfolded, setUnfolded] = useState(turn.turn > 0);
  if (turn.exposures.length === 0) return null;
  if (!unfolded)
    return (
      <div className="given">
        <Button size="compact-xs" variant="subtle" aria-expanded={false} onClick={() => setUnfolded(true)}>
          Show the start pack: {plural(turn.exposures.length, "memory", "memories")}
        </Button>
      </div>
    );
  return (
    <ul className="given">
      {turn.exposures.map((one) => (
        <InjectedRow key={one.memory_id + one.surface} injected={one} />
      ))}
    </ul>
  );
}

function InjectedRow({ injected }: { injected: InjectedMemory }) {
  const memory = useMemory(injected.memory_id).data;
  return (
    <li>
      <SurfaceMark surface={injected.surface} />
      <Link to={`/memories/${injected.memory_id}`}>
        {memory === undefined ? <span className="mono">{injected.memory_id}</span> : <><Kind name={memory.kind} /> {memory.content}</>}
      </Link>
      <span className="num faint">{injected.tokens} tokens</span>
      {injected.used !== null && (
        <Tooltip label={injected.used ? "it shows in what the agent did afterwards" : "it does not show in what the agent did"}>
          <span className={injected.used ? "used" : "unused"}>
            {injected.used ? <IconCheck size={13} aria-hidden /> : <IconX size={13} aria-hidden />}
            {injected.used ? "used" : "not used"}
          </span>
        </Tooltip>
      )}
    </li>
  );
}

function Side({ title, rows }: { title: string; rows: string[] }) {
  if (rows.length === 0) return null;
  return (
    <Panel title={title}>
      <ul className="side mono">
        {rows.slice(0, 12).map((row, at) => (
          <li key={at}>{row}</li>
        ))}
      </ul>
    </Panel>
  );
}

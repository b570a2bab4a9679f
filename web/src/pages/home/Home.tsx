import "./home.css";
import "../../trace/trace.css";
import { Anchor, SegmentedControl } from "@mantine/core";
import { IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";
import { Link } from "react-router";
import { askAhead, LATEST, useReviewCount, useSeries, useStatus, useTraces } from "../../api/queries";
import type { Series, StatusView } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { FirstSteps } from "../../ui/FirstSteps";
import { Head } from "../../ui/Head";
import { RecallList } from "../../ui/RecallList";
import { agoOf, countOf, percentOf, plural, whenOf } from "../../ui/words";
import { Jobs } from "./Jobs";
import { Machine, Models } from "./Machine";

const DAY_MS = 86_400_000;
const RANGES = { "24 h": { days: 1, bucket: "hour" }, "7 days": { days: 7, bucket: "day" }, "30 days": { days: 30, bucket: "day" } } as const;
type Range = keyof typeof RANGES;
const FIRST: Range = "7 days";
const Charts = lazy(() => import("./Charts"));

export function Component() {
  const [range, setRange] = useState<Range>(FIRST);
  const { since, bucket } = boundsOf(range);
  const series = useSeries(since, bucket);
  const status = useStatus();
  if (status.data?.store.memories_total === 0)
    return (
      <FirstSteps>
        <Standing data={status.data} />
      </FirstSteps>
    );
  return (
    <>
      <Head title="Home" text="Whether it works, what it did, and what is to be done.">
        <SegmentedControl aria-label="Time" value={range} onChange={(value) => setRange(value as Range)} data={Object.keys(RANGES)} />
      </Head>
      {!status.isLoadingError && <Jobs />}
      <Answer of={status}>{(data) => <Standing data={data} />}</Answer>
      <Answer of={series} rows={12}>
        {(data) => <Numbers series={data} hourly={bucket === "hour"} />}
      </Answer>
      <Latest />
      {status.data !== undefined && <Models data={status.data} />}
      {status.data !== undefined && <Machine data={status.data} latency={series.data?.latency ?? []} />}
    </>
  );
}

/** Begin to ask what this page opens with. */
export function beginHome() {
  const { since, bucket } = boundsOf(FIRST);
  askAhead(since, bucket);
}

function boundsOf(range: Range) {
  const { days, bucket } = RANGES[range];
  const unitMs = bucket === "hour" ? DAY_MS / 24 : DAY_MS;
  return { since: Math.floor(Date.now() / unitMs) * unitMs - (days * DAY_MS - unitMs), bucket };
}

/** Whether it works, agent by agent, and the one thing that is to be done. */
function Standing({ data }: { data: StatusView }) {
  const waiting = useReviewCount();
  const failed = data.checks.filter((check) => !check.ok);
  const heard = data.agents.some((agent) => agent.heard_ms > 0);
  return (
    <section className={`panel verdict ${data.ok ? "ok" : "bad"}`} aria-label="Does it work">
      <h2>
        {data.ok ? <IconCircleCheck size={20} aria-hidden /> : <IconCircleX size={20} aria-hidden />}
        {data.ok ? (heard ? "Tacit works" : "Tacit is ready: start a session") : plural(failed.length, "thing wants a look", "things want a look")}
      </h2>
      {failed.map((check) => (
        <p key={check.name} className="failed">
          {check.detail} {check.hint}
        </p>
      ))}
      {data.agents.length > 0 && (
        <ul className="agents" aria-label="Agents">
          {data.agents.map((agent) => (
            <li key={agent.host} data-ok={agent.state === "installed" || agent.heard_ms > 0 || undefined}>
              <b>{agent.host}</b> <span title={agent.heard_ms > 0 ? whenOf(agent.heard_ms) : undefined}>{agentOf(agent)}</span>
              {agent.problems.map((problem) => (
                <span key={problem} className="agent-problem">
                  {problem}
                </span>
              ))}
            </li>
          ))}
        </ul>
      )}
      {waiting > 0 ? (
        <p className="waits">
          {plural(waiting, "statement")} {waiting === 1 ? "waits" : "wait"} for your word. <Link to="/review">Review</Link>
        </p>
      ) : (
        data.ok && heard && <p className="sub">Nothing is to be done.</p>
      )}
    </section>
  );
}

const STATES: Record<StatusView["agents"][number]["state"], string> = {
  installed: "connected",
  outdated: "connected by an older version; `tacit install` renews it",
  partial: "connected in part; `tacit install` completes it",
  absent: "on this machine, not connected; `tacit install` connects it",
  unknown: "reports by itself",
};

function agentOf({ state, heard_ms }: StatusView["agents"][number]): string {
  return `${STATES[state]}${state === "absent" && heard_ms === 0 ? "" : heard_ms > 0 ? `, heard of ${agoOf(heard_ms)}` : ", not heard of yet"}`;
}

function Numbers({ series, hourly }: { series: Series; hourly: boolean }) {
  const at = (surface: string) => series.surfaces.find((one) => one.surface === surface) ?? { recalls: 0, injections: 0, memories: 0, tokens: 0 };
  const each = ({ tokens, injections }: { tokens: number; injections: number }) => (injections > 0 ? `${countOf(Math.round(tokens / injections))} tokens each` : "none yet");
  const [prompt, start, asked] = [at("prompt"), at("start"), at("on_demand")];
  const [call, failure] = [at("action"), at("failure")];
  const { feedback, used } = series;
  return (
    <>
      <dl className="kpis">
        <Kpi name="Noted" value={countOf(series.noted)} note="new memories" to="/memories" strong />
        <Kpi name="Given before prompts" value={`${countOf(prompt.injections)} of ${countOf(prompt.recalls)}`} note={each(prompt)} to="/traces?surface=prompt" strong />
        <Kpi name="At calls and failures" value={`${countOf(call.injections + failure.injections)} of ${countOf(call.recalls + failure.recalls)}`} note={each({ tokens: call.tokens + failure.tokens, injections: call.injections + failure.injections })} to="/traces?surface=action" />
        <Kpi name="Start packs" value={countOf(start.injections)} note={each(start)} to="/traces?surface=start" />
        <Kpi name="Fetched on demand" value={countOf(asked.memories)} note={plural(asked.recalls, "question")} to="/traces?surface=on_demand" />
        <Kpi name="Used afterwards" value={used.rate === null ? "–" : percentOf(used.rate)} note={used.rate === null ? "not known yet" : `${countOf(used.used)} of ${countOf(used.shown)}${used.baseline === null ? "" : `; ${percentOf(used.baseline)} by chance`}`} to="/memories?order=used&ascending=yes" />
      </dl>
      <p className="sub judged">
        {feedback.precision === null
          ? "Say in a trace what was useful: levels are tuned by it."
          : `You called ${percentOf(feedback.precision)} of what you judged useful: ${feedback.useful} useful, ${feedback.wrong} wrong${feedback.missed > 0 ? `, ${feedback.missed} missed` : ""}.`}
      </p>
      <Suspense fallback={<div className="overview-waits" role="status" aria-busy="true" aria-label="Loading" />}>
        <Charts series={series} hourly={hourly} />
      </Suspense>
    </>
  );
}

function Latest() {
  const latest = useTraces({}, LATEST);
  return (
    <section className="panel flush latest" aria-label="Latest">
      <div className="latest-head">
        <h2 className="title">Latest</h2>
        <Anchor component={Link} to="/traces" size="sm">
          All traces
        </Anchor>
      </div>
      <Answer of={latest}>{(data) => <RecallList rows={data.pages[0]?.recalls ?? []} />}</Answer>
    </section>
  );
}

function Kpi({ name, value, note, to, strong = false }: { name: string; value: string; note: string; to: string; strong?: boolean }) {
  return (
    <div className="kpi" data-strong={strong || undefined}>
      <dt>{name}</dt>
      <dd>
        <Link to={to} className="num" aria-label={`${name}: ${value}, ${note}`}>
          {value}
        </Link>
        <span title={note}>{note}</span>
      </dd>
    </div>
  );
}

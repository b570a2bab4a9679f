import "./overview.css";
import "../../trace/trace.css";
import { Alert, Anchor, SegmentedControl } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { Link } from "react-router";
import { askAhead, LATEST, useReviewCount, useSeries, useStatus, useTraces } from "../../api/queries";
import type { Series } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { FirstSteps } from "../../ui/FirstSteps";
import { Head } from "../../ui/Head";
import { RecallList } from "../../ui/RecallList";
import { countOf, msOf, percentOf, plural } from "../../ui/words";
import { Tune } from "./Tune";

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
  if (status.data?.store.memories_total === 0) return <FirstSteps />;
  return (
    <>
      <Head title="Overview" text="What the memory injected, when it stayed silent, and whether it helped.">
        <Tune />
        <SegmentedControl aria-label="Time" value={range} onChange={(value) => setRange(value as Range)} data={Object.keys(RANGES)} />
      </Head>
      <Notices />
      <Answer of={series} rows={12}>
        {(data) => <Numbers series={data} hourly={bucket === "hour"} />}
      </Answer>
      <Latest />
    </>
  );
}

/** Begin to ask what this page opens with. */
export function beginOverview() {
  const { since, bucket } = boundsOf(FIRST);
  askAhead(since, bucket);
}

function boundsOf(range: Range) {
  const { days, bucket } = RANGES[range];
  const unitMs = bucket === "hour" ? DAY_MS / 24 : DAY_MS;
  return { since: Math.floor(Date.now() / unitMs) * unitMs - (days * DAY_MS - unitMs), bucket };
}

function Notices() {
  const status = useStatus().data;
  const waiting = useReviewCount();
  return (
    <div className="notices">
      {status?.recall_enabled === false && <Alert color="orange" title="Recall is off">Nothing is injected until `recall.enabled` is on again. <Anchor component={Link} to="/settings?find=recall.enabled" size="sm">Settings</Anchor></Alert>}
      {status?.shadow === true && <Alert color="orange" title="Shadow mode">Everything is scored and logged, nothing is injected. <Anchor component={Link} to="/settings?find=recall.shadow" size="sm">Settings</Anchor></Alert>}
      {status?.warnings.map((warning) => <Alert key={warning} color="orange">{warning}</Alert>)}
      {waiting > 0 && (
        <p className="waits">
          {plural(waiting, "statement")} {waiting === 1 ? "waits" : "wait"} for your word. <Link to="/review">Review</Link>
        </p>
      )}
    </div>
  );
}

function Numbers({ series, hourly }: { series: Series; hourly: boolean }) {
  const injections = sum(series.buckets.map((one) => one.injections));
  const silences = sum(series.buckets.map((one) => one.silences));
  const tokens = sum(Object.values(series.kinds));
  const { feedback, used } = series;
  return (
    <>
      <dl className="kpis">
        <Kpi name="Injected" value={countOf(injections)} note={injections + silences > 0 ? `${percentOf(injections / (injections + silences))} of ${countOf(series.recalls)} recalls` : "no recall yet"} strong />
        <Kpi name="Silences" value={countOf(silences)} note={series.silences[0]?.reason ?? ""} />
        <Kpi name="Precision" value={feedback.precision === null ? "–" : percentOf(feedback.precision)} note={feedback.precision === null ? "say in a trace what was useful" : `${feedback.useful} useful, ${feedback.wrong} wrong${feedback.missed > 0 ? `, ${feedback.missed} missed` : ""}`} />
        <Kpi name="Used afterwards" value={used.rate === null ? "–" : percentOf(used.rate)} note={used.rate === null ? "known once sessions end" : `${used.used} of ${used.shown}${used.baseline === null ? "" : `; ${percentOf(used.baseline)} by chance`}`} />
        <Kpi name="Tokens each" value={injections > 0 ? String(Math.round(tokens / injections)) : "–"} note={`${countOf(tokens)} in all`} />
        <Kpi name="Prompt p95" value={latencyOf(series, "prompt")} note="from event to text" />
      </dl>
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

function Kpi({ name, value, note, strong = false }: { name: string; value: string; note: string; strong?: boolean }) {
  return (
    <div className="kpi" data-strong={strong || undefined}>
      <dt>{name}</dt>
      <dd>
        <b className="num">{value}</b>
        <span title={note}>{note}</span>
      </dd>
    </div>
  );
}

function latencyOf(series: Series, surface: string): string {
  const found = series.latency.find((one) => one.surface === surface);
  return found === undefined ? "–" : msOf(found.p95_ms);
}

function sum(values: number[]): number {
  return values.reduce((whole, one) => whole + one, 0);
}

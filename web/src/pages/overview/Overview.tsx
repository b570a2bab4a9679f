import "./overview.css";
import "@mantine/charts/styles.css";
import "../../trace/trace.css";
import { BarChart, LineChart } from "@mantine/charts";
import { Alert, Anchor, SegmentedControl } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { Link } from "react-router";
import { useReviewCount, useSeries, useStatus, useTraces } from "../../api/queries";
import type { Series } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Bars } from "../../ui/Bars";
import { FirstSteps } from "../../ui/FirstSteps";
import { Head } from "../../ui/Head";
import { RecallList } from "../../ui/RecallList";
import { countOf, msOf, percentOf, plural, wordsOf } from "../../ui/words";
import { Tune } from "./Tune";

const DAY_MS = 86_400_000;
const RANGES = { "24 h": { days: 1, bucket: "hour" }, "7 days": { days: 7, bucket: "day" }, "30 days": { days: 30, bucket: "day" } } as const;
type Range = keyof typeof RANGES;
const still = { isAnimationActive: false };

export function Component() {
  const [range, setRange] = useState<Range>("7 days");
  const { days, bucket } = RANGES[range];
  const unitMs = bucket === "hour" ? DAY_MS / 24 : DAY_MS;
  const since = Math.floor(Date.now() / unitMs) * unitMs - (days * DAY_MS - unitMs);
  const series = useSeries(since, bucket);
  const status = useStatus();
  if (status.data?.store.memories_total === 0) return <FirstSteps />;
  return (
    <>
      <Head title="Overview" text="What the memory handed over, when it stayed silent, and whether it helped.">
        <Tune />
        <SegmentedControl aria-label="Time" value={range} onChange={(value) => setRange(value as Range)} data={Object.keys(RANGES)} />
      </Head>
      <Notices />
      <Answer of={series} rows={12}>
        {(data) => <Charts series={data} hourly={bucket === "hour"} />}
      </Answer>
      <Latest />
    </>
  );
}

function Notices() {
  const status = useStatus().data;
  const waiting = useReviewCount();
  return (
    <div className="notices">
      {status?.recall_enabled === false && <Alert color="orange" title="Recall is off">Nothing is handed over until `recall.enabled` is on again. <Anchor component={Link} to="/settings?find=recall.enabled" size="sm">Settings</Anchor></Alert>}
      {status?.shadow === true && <Alert color="orange" title="Shadow mode">Everything is scored and logged, nothing is handed over. <Anchor component={Link} to="/settings?find=recall.shadow" size="sm">Settings</Anchor></Alert>}
      {status?.warnings.map((warning) => <Alert key={warning} color="orange">{warning}</Alert>)}
      {waiting > 0 && (
        <p className="waits">
          {plural(waiting, "statement")} {waiting === 1 ? "waits" : "wait"} for your word. <Link to="/review">Review</Link>
        </p>
      )}
    </div>
  );
}

function Charts({ series, hourly }: { series: Series; hourly: boolean }) {
  const injections = sum(series.buckets.map((one) => one.injections));
  const silences = sum(series.buckets.map((one) => one.silences));
  const tokens = sum(Object.values(series.kinds));
  const format = new Intl.DateTimeFormat("en-GB", hourly ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" });
  const rows = series.buckets.map((one) => ({
    when: format.format(one.at_ms),
    "handed over": one.injections,
    silence: one.silences,
    p50: one.p50_ms || null,
    p95: one.p95_ms || null,
    precision: one.precision === null ? null : Math.round(one.precision * 100),
    ...Object.fromEntries(Object.entries(one.tokens)),
  }));
  const kinds = Object.keys(series.kinds).slice(0, 7);
  const { feedback, used } = series;
  return (
    <>
      <dl className="kpis">
        <Kpi name="Handed over" value={countOf(injections)} note={injections + silences > 0 ? `${percentOf(injections / (injections + silences))} of ${countOf(series.recalls)} recalls` : "no recall yet"} strong />
        <Kpi name="Silences" value={countOf(silences)} note={series.silences[0]?.reason ?? ""} />
        <Kpi name="Precision" value={feedback.precision === null ? "–" : percentOf(feedback.precision)} note={feedback.precision === null ? "say in a trace what was useful" : `${feedback.useful} useful, ${feedback.wrong} wrong${feedback.missed > 0 ? `, ${feedback.missed} missed` : ""}`} />
        <Kpi name="Used afterwards" value={used.rate === null ? "–" : percentOf(used.rate)} note={used.rate === null ? "known once sessions end" : `${used.used} of ${used.shown}${used.baseline === null ? "" : `; ${percentOf(used.baseline)} by chance`}`} />
        <Kpi name="Tokens each" value={injections > 0 ? String(Math.round(tokens / injections)) : "–"} note={`${countOf(tokens)} in all`} />
        <Kpi name="Prompt p95" value={latencyOf(series, "prompt")} note="from event to text" />
      </dl>
      <div className="overview-grid">
        <Panel className="wide" title="Injections and silences" sub={hourly ? "per hour" : "per day"} says={`${injections} injections, ${silences} silences`}>
          <BarChart
            h={210} data={rows} dataKey="when" type="stacked" withLegend legendProps={{ verticalAlign: "top", height: 28 }} gridAxis="x" tickLine="none" maxBarWidth={34}
            barProps={still} barChartProps={{ accessibilityLayer: false }} series={[{ name: "handed over", color: "var(--accent)" }, { name: "silence", color: "var(--chart-quiet)" }]}
          />
        </Panel>
        <Panel title="Why it was silent" sub="Silence is the default; each has its reason.">
          <Bars rows={series.silences.map((one) => ({ name: one.reason, value: one.count }))} empty="No silence in this time." />
        </Panel>
        <Panel title="Latency" sub="milliseconds, all surfaces" says={series.latency.map((one) => `${one.surface} p95 ${msOf(one.p95_ms)}`).join(", ")}>
          <LineChart h={150} data={rows} dataKey="when" withLegend legendProps={{ verticalAlign: "top", height: 26 }} gridAxis="x" tickLine="none" curveType="monotone" connectNulls withDots={false} strokeWidth={1.8} lineProps={still} lineChartProps={{ accessibilityLayer: false }} series={[{ name: "p50", color: "var(--chart-1)" }, { name: "p95", color: "var(--chart-2)" }]} />
          <table className="mini">
            <thead>
              <tr>
                <th scope="col">surface</th><th scope="col">recalls</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th>
              </tr>
            </thead>
            <tbody>
              {series.latency.map((one) => (
                <tr key={one.surface}>
                  <th scope="row">{wordsOf(one.surface)}</th><td>{countOf(one.count)}</td><td>{msOf(one.p50_ms)}</td><td>{msOf(one.p95_ms)}</td><td>{msOf(one.p99_ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
        <Panel title="Tokens by kind" sub="what the blocks were made of" says={Object.entries(series.kinds).map(([kind, count]) => `${kind} ${count}`).join(", ")}>
          {kinds.length === 0 ? (
            <p className="sub">Nothing was handed over in this time.</p>
          ) : (
            <BarChart h={150} data={rows} dataKey="when" type="stacked" gridAxis="x" tickLine="none" maxBarWidth={26} barProps={still} barChartProps={{ accessibilityLayer: false }} series={kinds.map((name, at) => ({ name, color: `var(--chart-${(at % 7) + 1})` }))} />
          )}
          <Bars rows={Object.entries(series.kinds).slice(0, 7).map(([name, value], at) => ({ name: wordsOf(name), value, color: `var(--chart-${(at % 7) + 1})` }))} empty="" />
        </Panel>
        <Panel title="Precision from your feedback" sub="share of what was handed over that you called useful" says={feedback.precision === null ? "no feedback" : percentOf(feedback.precision)}>
          {feedback.precision === null ? (
            <p className="sub">Open a trace and say “was useful” or “should not have been injected”. `tacit tune` learns the threshold from it.</p>
          ) : (
            <LineChart h={150} data={rows} dataKey="when" gridAxis="x" tickLine="none" yAxisProps={{ domain: [0, 100] }} unit=" %" connectNulls curveType="linear" lineProps={still} lineChartProps={{ accessibilityLayer: false }} series={[{ name: "precision", color: "var(--accent)" }]} />
          )}
          <h2 className="title cache-title">Prompt cache</h2>
          {series.cache.length === 0 ? (
            <p className="sub">How much of each request's beginning stays byte for byte, by placement. It is counted where the host tells what it sends.</p>
          ) : (
            <Bars rows={series.cache.map((one) => ({ name: one.placement, value: Math.round(one.share * 100), note: `${Math.round(one.share * 100)} % of ${countOf(one.requests)}` }))} most={100} empty="" />
          )}
        </Panel>
      </div>
    </>
  );
}

function Latest() {
  const latest = useTraces({}, 12);
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

function Panel({ title, sub, says, className = "", children }: { title: string; sub: string; says?: string; className?: string; children: ReactNode }) {
  return (
    <section className={`panel ${className}`} aria-label={says === undefined ? title : `${title}: ${says}`}>
      <h2>{title}</h2>
      <p className="sub">{sub}</p>
      {children}
    </section>
  );
}

function latencyOf(series: Series, surface: string): string {
  const found = series.latency.find((one) => one.surface === surface);
  return found === undefined ? "–" : msOf(found.p95_ms);
}

function sum(values: number[]): number {
  return values.reduce((whole, one) => whole + one, 0);
}

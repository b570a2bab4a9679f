import "@mantine/charts/styles.css";
import { BarChart, LineChart } from "@mantine/charts";
import type { Series } from "../../api/types";
import { Bars } from "../../ui/Bars";
import { Panel } from "../../ui/Panel";
import { axisOf } from "../../ui/axis";
import { percentOf, plural, wordsOf } from "../../ui/words";

const still = { isAnimationActive: false };
const dates = { interval: "equidistantPreserveStart" } as const;

/** The charts, loaded after the figures above them: the library that draws them is the heaviest part of the page. */
export default function Charts({ series, hourly }: { series: Series; hourly: boolean }) {
  const injections = sum(series.buckets.map((one) => one.injections));
  const silences = sum(series.buckets.map((one) => one.silences));
  const format = new Intl.DateTimeFormat("en-GB", hourly ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" });
  const rows = series.buckets.map((one) => ({
    when: format.format(one.at_ms),
    "given": one.injections,
    silence: one.silences,
    precision: one.precision === null ? null : Math.round(one.precision * 100),
    ...Object.fromEntries(Object.entries(one.tokens)),
  }));
  const marks = marksOf(series, format);
  const lines = marks.map(({ when, number }) => ({ x: when, label: String(number), color: "var(--gate)" }));
  const axis = (most: (bucket: Series["buckets"][number]) => number) => axisOf(Math.max(0, ...series.buckets.map(most)));
  const kinds = Object.keys(series.kinds).slice(0, 7);
  const { feedback } = series;
  return (
    <div className="overview-grid">
      <Panel className="broad" title="Given and silent" sub={`of prompts, calls and failures, ${hourly ? "per hour" : "per day"}`} to="/traces" says={`given ${injections} times, ${silences} silences`}>
        <BarChart
          h={210} data={rows} dataKey="when" type="stacked" withLegend legendProps={{ verticalAlign: "top", height: 28 }} gridAxis="x" tickLine="none" maxBarWidth={34}
          xAxisProps={dates} yAxisProps={axis((one) => one.injections + one.silences)}
          barProps={still} barChartProps={{ accessibilityLayer: false }} series={[{ name: "given", color: "var(--accent)" }, { name: "silence", color: "var(--chart-quiet)" }]}
          referenceLines={lines}
        />
        {marks.length > 0 && (
          <ol className="marks" aria-label="What changed">
            {marks.map(({ when, number, about }) => (
              <li key={number} value={number}>
                {when}: {about}
              </li>
            ))}
          </ol>
        )}
      </Panel>
      <Panel title="Why it was silent" sub="Silence is the default; each has its reason." to="/traces?outcome=silent">
        <Bars rows={series.silences.map((one) => ({ name: one.reason, value: one.count }))} empty="No silence in this time." />
      </Panel>
      <Panel title="Tokens by kind" to="/memories?given=true" sub="what the blocks were made of, start packs too" says={Object.entries(series.kinds).map(([kind, count]) => `${kind} ${count}`).join(", ")}>
        {kinds.length === 0 ? (
          <p className="sub">Nothing was injected in this time.</p>
        ) : (
          <BarChart h={150} data={rows} dataKey="when" xAxisProps={dates} yAxisProps={axis((one) => sum(Object.values(one.tokens)))} type="stacked" gridAxis="x" tickLine="none" maxBarWidth={26} barProps={still} barChartProps={{ accessibilityLayer: false }} series={kinds.map((name, at) => ({ name, color: `var(--chart-${(at % 7) + 1})` }))} />
        )}
        <Bars rows={Object.entries(series.kinds).slice(0, 7).map(([name, value], at) => ({ name: wordsOf(name), value, color: `var(--chart-${(at % 7) + 1})`, to: `/memories?kind=${name}` }))} empty="" />
      </Panel>
      <Panel className="broad" title="Precision from your feedback" to="/traces?outcome=injected" sub="share of what was injected that you called useful" says={feedback.precision === null ? "no feedback" : percentOf(feedback.precision)}>
        {feedback.precision === null ? (
          <p className="sub">Open a trace and say “was useful” or “should not have been injected”. `tacit config tune` learns the levels from it.</p>
        ) : (
          <LineChart h={250} data={rows} dataKey="when" gridAxis="x" tickLine="none" xAxisProps={dates} yAxisProps={axisOf(100)} unit=" %" connectNulls curveType="linear" lineProps={still} lineChartProps={{ accessibilityLayer: false }} series={[{ name: "precision", color: "var(--accent)" }]} />
        )}
        {series.cache.length > 0 && (
          <>
            <h2 className="title cache-title">Prompt cache</h2>
            <p className="sub">what stays byte for byte of each request, by placement; what the cache gave, by host</p>
            <Bars rows={series.cache.map(reuseOf)} most={100} empty="" />
          </>
        )}
      </Panel>
    </div>
  );
}

/** What changed, one entry for each column of the charts in which something did. */
function marksOf(series: Series, format: Intl.DateTimeFormat) {
  const found = new Map<string, string[]>();
  for (const mark of series.marks) {
    const at = Math.floor((mark.at_ms - series.since_ms) / series.bucket_ms) * series.bucket_ms + series.since_ms;
    const about = mark.about.join(", ");
    const words = mark.what === "import" ? `${plural(mark.count, "memory", "memories")} imported from ${about}` : `${about} changed`;
    const when = format.format(at);
    found.set(when, [...new Set([...(found.get(when) ?? []), words])]);
  }
  return [...found].map(([when, words], at) => ({ when, number: at + 1, about: words.join("; ") }));
}

const HOSTS: Record<string, string> = { "claude-code": "Claude Code", opencode: "OpenCode" };

/** Of a program's requests the share that stays as it was; of a host's the share of tokens that the API's cache had. */
function reuseOf(one: Series["cache"][number]) {
  const share = one.host === "" ? one.share : one.cached_tokens / Math.max(1, one.input_tokens);
  return { name: one.host === "" ? wordsOf(one.placement) : (HOSTS[one.host] ?? one.host), value: Math.round(share * 100), note: `${percentOf(share)} of ${plural(one.requests, "request")}` };
}

function sum(values: number[]): number {
  return values.reduce((whole, one) => whole + one, 0);
}

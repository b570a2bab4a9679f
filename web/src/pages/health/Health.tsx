import "./health.css";
import { Anchor, Code } from "@mantine/core";
import { IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { useSeries, useStatus } from "../../api/queries";
import type { ExtractorStatus, NamingStatus } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Head } from "../../ui/Head";
import { Panel } from "../../ui/Panel";
import { LatencyTable, Silences } from "../../ui/Recalled";
import { bytesOf, countOf, plural, wordsOf } from "../../ui/words";
import { BeginJobs, Jobs } from "./Jobs";

const DAY_MS = 86_400_000;

export function Component() {
  const status = useStatus();
  const [since] = useState(() => Math.floor(Date.now() / DAY_MS) * DAY_MS - 6 * DAY_MS);
  const series = useSeries(since, "day");
  return (
    <>
      <Head title="Health" text="Whether it works, how fast, and why it was silent. Silence must never look like failure.">
        <Anchor component={Link} to="/api" size="sm">HTTP API</Anchor>
        <BeginJobs />
      </Head>
      {!status.isLoadingError && <Jobs />}
      <Answer of={status}>
        {(data) => (
          <>
            <section className={`panel verdict ${data.ok ? "ok" : "bad"}`} aria-label="Checks">
              <h2>
                {data.ok ? <IconCircleCheck size={20} aria-hidden /> : <IconCircleX size={20} aria-hidden />}
                {data.ok ? "All is well" : plural(data.checks.filter((one) => !one.ok).length, "thing wants a look", "things want a look")}
              </h2>
              <ul className="checks">
                {data.checks.map((check) => (
                  <li key={check.name} data-ok={check.ok || undefined}>
                    {check.ok ? <IconCircleCheck size={15} aria-label="sound" /> : <IconCircleX size={15} aria-label="not sound" />}
                    <b>{wordsOf(check.name)}</b>
                    <span>{check.ok ? "" : `${check.detail} ${check.hint}`}</span>
                  </li>
                ))}
              </ul>
              <p className="sub">
                <Code>tacit doctor</Code> goes further: it proves with your own agent and a stub model that injected text reaches the model.
              </p>
            </section>
            <div className="health-grid">
            <div className="grid">
              <Panel title="Latency by surface" sub="half, 95 and 99 of a hundred recalls are faster">
                <LatencyTable rows={series.data?.latency ?? []} />
              </Panel>
              <Silences of={series.data?.silences ?? []} sub="the last seven days" empty="It was not silent." />
            </div>
            <div className="grid">
              <Panel title="Store">
                <dl className="facts">
                  <Fact name="memories" value={`${countOf(data.store.memories_active)} active, ${countOf(data.store.memories_total)} with history`} />
                  <Fact name="projects" value={countOf(data.store.projects)} />
                  <Fact name="sessions" value={countOf(data.store.sessions)} />
                  <Fact name="injected" value={countOf(data.store.exposures)} />
                  <Fact name="traces" value={countOf(data.store.traces)} />
                  <Fact name="vectors" value={`${countOf(data.store.vectors)}${data.store.vectors_missing > 0 ? `, ${data.store.vectors_missing} missing` : ""}`} />
                  <Fact name="wait for capture" value={countOf(data.store.handovers_pending)} />
                  <Fact name="size" value={bytesOf(data.store.size_bytes)} />
                </dl>
              </Panel>
              <Panel title="Daemon">
                <dl className="facts">
                  <Fact name="version" value={data.version} />
                  <Fact name="preset" value={data.preset} />
                  <Fact name="embedder" value={data.embedder} />
                  <Fact name="home" value={data.home} />
                  {Object.entries(data.counters).map(([name, value]) => (
                    <Fact key={name} name={wordsOf(name)} value={countOf(value)} />
                  ))}
                </dl>
              </Panel>
              {data.extractor && <Writer told={data.extractor} />}
              {data.anticipation && <Naming told={data.anticipation} title="Model in the pause" />}
              {data.judge && <Naming told={data.judge} title="Model at the prompt" />}
            </div>
            </div>
          </>
        )}
      </Answer>
    </>
  );
}

function Writer({ told }: { told: ExtractorStatus }) {
  return (
    <Panel title="Writer" sub="the language model that writes up sessions">
      <dl className="facts">
        <Fact name="model" value={told.name} />
        <Fact name="input tokens today" value={`${countOf(told.tokens)} of ${countOf(told.tokens_per_day)}`} />
        <Fact name="output tokens today" value={countOf(told.tokens_out)} />
        <Fact name="requests" value={`${countOf(told.asked)}, ${countOf(told.failed)} without an answer`} />
        <Fact name="statements" value={`${countOf(told.kept)} kept, ${countOf(told.dropped)} not found in the session`} />
        <Fact name="sessions that wait" value={countOf(told.waiting)} />
      </dl>
      {told.error !== "" && <p className="sub">{told.error}</p>}
    </Panel>
  );
}

function Naming({ told, title }: { told: NamingStatus; title: string }) {
  return (
    <Panel title={title} sub="the language model that names memories">
      <dl className="facts">
        <Fact name="model" value={told.name} />
        <Fact name="input tokens today" value={`${countOf(told.tokens)} of ${countOf(told.tokens_per_day)}`} />
        <Fact name="output tokens today" value={countOf(told.tokens_out)} />
        <Fact name="requests" value={`${countOf(told.asked)}, ${countOf(told.failed)} without an answer`} />
        <Fact name="memories" value={`${countOf(told.named)} named, ${countOf(told.ignored)} entries ignored`} />
      </dl>
      {told.error !== "" && <p className="sub">{told.error}</p>}
    </Panel>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="num">{value}</dd>
    </>
  );
}

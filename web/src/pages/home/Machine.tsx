import { Anchor, Code } from "@mantine/core";
import { Link } from "react-router";
import type { ExtractorStatus, NamingStatus, Series, StatusView } from "../../api/types";
import { Panel } from "../../ui/Panel";
import { LatencyTable } from "../../ui/Recalled";
import { bytesOf, countOf } from "../../ui/words";
import { BeginJobs } from "./Jobs";
import { Tune } from "./Tune";

/** The optional models with what they cost, and, folded, the inside of the machine: store, process, latency and upkeep. */
export function Machine({ data, latency }: { data: StatusView; latency: Series["latency"] }) {
  const models = data.extractor !== null || data.anticipation !== null || data.judge !== null;
  return (
    <>
      <section className="models" aria-label="Optional models">
        {!models && <p className="sub">No optional model is on: nothing leaves this machine, and nothing costs money.</p>}
        {data.extractor !== null && <Writer told={data.extractor} />}
        {data.anticipation !== null && <Naming told={data.anticipation} title="Model in the pause" />}
        {data.judge !== null && <Naming told={data.judge} title="Model at the prompt" />}
      </section>
      <details className="machine">
        <summary>How it runs: store, speed, upkeep</summary>
        <div className="machine-acts">
          <BeginJobs />
          <Tune />
          <Anchor component={Link} to="/sessions/comparison" size="sm">With and without memory</Anchor>
          <Anchor component={Link} to="/api" size="sm">HTTP API</Anchor>
        </div>
        <p className="sub">
          <Code>tacit doctor</Code> goes further: it proves with your own agent and a stub model that injected text reaches the model.
        </p>
        <div className="health-grid">
          <Panel title="Speed by surface" sub="half, 95 and 99 of a hundred recalls are faster">
            <LatencyTable rows={latency} />
          </Panel>
          <Panel title="Store">
            <dl className="facts">
              <Fact name="memories" value={`${countOf(data.store.memories_active)} active, ${countOf(data.store.memories_total)} with history`} />
              <Fact name="projects" value={countOf(data.store.projects)} />
              <Fact name="sessions" value={countOf(data.store.sessions)} />
              <Fact name="traces" value={countOf(data.store.traces)} />
              <Fact name="vectors" value={`${countOf(data.store.vectors)}${data.store.vectors_missing > 0 ? `, ${data.store.vectors_missing} missing` : ""}`} />
              <Fact name="wait for capture" value={countOf(data.store.handovers_pending)} />
              <Fact name="size" value={bytesOf(data.store.size_bytes)} />
              <Fact name="version" value={data.version} />
              <Fact name="preset" value={data.preset} />
              <Fact name="embedder" value={data.embedder} />
              <Fact name="home" value={data.home} />
            </dl>
          </Panel>
        </div>
      </details>
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

import { Anchor, Code } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { ExtractorStatus, NamingStatus, Series, StatusView } from "../../api/types";
import { Panel } from "../../ui/Panel";
import { bytesOf, countOf, msOf, wordsOf } from "../../ui/words";
import { BeginJobs } from "./Jobs";
import { Tune } from "./Tune";

/** The optional models and what they cost day by day. */
export function Models({ data }: { data: StatusView }) {
  const models = data.extractor !== null || data.anticipation !== null || data.judge !== null;
  return (
      <section className="models" aria-label="Optional models">
        {!models && <p className="sub">No optional model is on: nothing leaves this machine, and nothing costs money.</p>}
        {data.extractor !== null && (
          <Model told={data.extractor} title="Cost of the writer" sub="writes up sessions" section="capture.extractor">
            <Fact name="statements" value={`${countOf(data.extractor.kept)} kept, ${countOf(data.extractor.dropped)} not found in the session`} />
            <Fact name="sessions that wait" value={countOf(data.extractor.waiting)} />
          </Model>
        )}
        {data.anticipation !== null && <Naming told={data.anticipation} title="Cost of the model in the pause" section="recall.anticipate" />}
        {data.judge !== null && <Naming told={data.judge} title="Cost of the model at the prompt" section="recall.judge" />}
      </section>
  );
}

/** Folded, the inside of the machine: store, process, latency and upkeep. */
export function Machine({ data, latency }: { data: StatusView; latency: Series["latency"] }) {
  return (
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
          <Panel title="Speed by surface" to="/traces" sub="half, 95 and 99 of a hundred recalls are faster">
            <LatencyTable rows={latency} />
          </Panel>
          <Panel title="Store" to="/data">
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
  );
}

/** How long recalls took, surface by surface. */
function LatencyTable({ rows }: { rows: Series["latency"] }) {
  return (
    <table className="latency">
      <thead>
        <tr>
          <th scope="col">surface</th><th scope="col">recalls</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((one) => (
          <tr key={one.surface}>
            <th scope="row">{wordsOf(one.surface)}</th><td>{countOf(one.count)}</td><td>{msOf(one.p50_ms)}</td><td>{msOf(one.p95_ms)}</td><td>{msOf(one.p99_ms)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** One optional model: what it costs day by day, and what came of it. */
function Model({ told, title, sub, section, children }: { told: ExtractorStatus | NamingStatus; title: string; sub: string; section: string; children: ReactNode }) {
  const unknown = told.days.some((day) => day.cost === null);
  return (
    <Panel title={title} sub={`${told.name}: ${sub}`} to="/settings">
      <table className="days">
        <thead>
          <tr>
            <th scope="col">day</th><th scope="col">tokens in</th><th scope="col">tokens out</th><th scope="col">cost</th>
          </tr>
        </thead>
        <tbody>
          {told.days.length === 0 && (
            <tr>
              <td colSpan={4}>It was not asked yet.</td>
            </tr>
          )}
          {told.days.slice(0, 7).map((day) => (
            <tr key={day.day}>
              <th scope="row">{day.day}</th><td>{countOf(day.tokens)}</td><td>{countOf(day.tokens_out)}</td><td>{day.cost === null ? "not known" : day.cost.toFixed(4)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {unknown && (
        <p className="sub">
          Set <Code>{section}.price</Code>, and each day shows what it cost.
        </p>
      )}
      <dl className="facts">
        <Fact name="allowed in a day" value={`${countOf(told.tokens_per_day)} tokens in`} />
        <Fact name="requests" value={`${countOf(told.asked)}, ${countOf(told.failed)} without an answer`} />
        {children}
      </dl>
      {told.error !== "" && <p className="sub">{told.error}</p>}
    </Panel>
  );
}

function Naming({ told, title, section }: { told: NamingStatus; title: string; section: string }) {
  return (
    <Model told={told} title={title} sub="names memories" section={section}>
      <Fact name="memories" value={`${countOf(told.named)} named, ${countOf(told.ignored)} entries ignored`} />
    </Model>
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

import "./health.css";
import { Button, Code } from "@mantine/core";
import { IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { useHealth, useSeries, useStatus } from "../../api/queries";
import { Answer } from "../../ui/Answer";
import { Bars } from "../../ui/Bars";
import { Head } from "../../ui/Head";
import { say } from "../../ui/said";
import { bytesOf, countOf, msOf, plural, wordsOf } from "../../ui/words";

const DAY_MS = 86_400_000;

export function Component() {
  const health = useHealth();
  const status = useStatus();
  const [since] = useState(() => Math.floor(Date.now() / DAY_MS) * DAY_MS - 6 * DAY_MS);
  const series = useSeries(since, "day");
  return (
    <>
      <Head title="Health" text="Whether it works, how fast, and why it was silent. Silence must never look like failure.">
        <Work />
      </Head>
      <Answer of={health}>
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
              <section className="panel">
                <h2>Latency by surface</h2>
                <p className="sub">half, 95 and 99 of a hundred recalls are faster</p>
                <table className="latency">
                  <thead>
                    <tr>
                      <th scope="col">surface</th><th scope="col">recalls</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th>
                    </tr>
                  </thead>
                  <tbody>
                    {(series.data?.latency ?? []).map((one) => (
                      <tr key={one.surface}>
                        <th scope="row">{wordsOf(one.surface)}</th><td>{countOf(one.count)}</td><td>{msOf(one.p50_ms)}</td><td>{msOf(one.p95_ms)}</td><td>{msOf(one.p99_ms)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </section>
              <section className="panel">
                <h2>Why it was silent</h2>
                <p className="sub">the last seven days</p>
                <Bars rows={(series.data?.silences ?? []).map((one) => ({ name: one.reason, value: one.count }))} empty="It was not silent." />
              </section>
            </div>
            <div className="grid">
              <section className="panel">
                <h2>Store</h2>
                <dl className="facts">
                  <Fact name="memories" value={`${countOf(data.store.memories_active)} active, ${countOf(data.store.memories_total)} with history`} />
                  <Fact name="projects" value={countOf(data.store.projects)} />
                  <Fact name="sessions" value={countOf(data.store.sessions)} />
                  <Fact name="handed over" value={countOf(data.store.exposures)} />
                  <Fact name="traces" value={countOf(data.store.traces)} />
                  <Fact name="vectors" value={`${countOf(data.store.vectors)}${data.store.vectors_missing > 0 ? `, ${data.store.vectors_missing} missing` : ""}`} />
                  <Fact name="wait for capture" value={countOf(data.store.handovers_pending)} />
                  <Fact name="size" value={bytesOf(data.store.size_bytes)} />
                </dl>
              </section>
              <section className="panel">
                <h2>Daemon</h2>
                <dl className="facts">
                  <Fact name="version" value={data.version} />
                  {status.data !== undefined && (
                    <>
                      <Fact name="preset" value={status.data.preset} />
                      <Fact name="embedder" value={status.data.embedder} />
                      <Fact name="tokens" value={status.data.tokens_exact ? "counted exactly" : "estimated, with a margin"} />
                      <Fact name="home" value={status.data.home} />
                    </>
                  )}
                  {Object.entries(data.counters).map(([name, value]) => (
                    <Fact key={name} name={wordsOf(name)} value={countOf(value)} />
                  ))}
                </dl>
              </section>
            </div>
            </div>
          </>
        )}
      </Answer>
    </>
  );
}

function Work() {
  const check = useMutation({
    mutationFn: () => body(api.GET("/v1/check")),
    onSuccess: ({ problems }) => say(problems.length === 0 ? "The store is sound" : plural(problems.length, "problem"), problems.join(" ")),
  });
  const reindex = useMutation({
    mutationFn: () => body(api.POST("/v1/reindex")),
    onSuccess: ({ embedded }) => say(embedded === 0 ? "Every vector is of this embedder already" : `Renewed ${plural(embedded, "vector")}`),
  });
  return (
    <>
      <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
        Check the store
      </Button>
      <Button variant="default" loading={reindex.isPending} onClick={() => reindex.mutate()}>
        Renew vectors
      </Button>
    </>
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

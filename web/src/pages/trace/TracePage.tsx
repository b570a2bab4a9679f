import { Button } from "@mantine/core";
import { Link, useParams } from "react-router";
import { useTrace } from "../../api/queries";
import { TraceView } from "../../trace/TraceView";
import { Answer } from "../../ui/Answer";
import { Head } from "../../ui/Head";
import { Kind } from "../../ui/Kind";
import { State } from "../../ui/State";

export function Component() {
  const { id = "" } = useParams();
  const asked = useTrace(id);
  return (
    <Answer of={asked} rows={12}>
      {({ trace, verdicts, learned }) => (
        <>
          <Head title={trace.summary ? `${trace.summary} given` : learned.length > 0 ? "Learned, and nothing given" : "Silence"} text={trace.sentence}>
            {trace.session !== "" && (
              <Button variant="default" component={Link} to={`/traces?session=${encodeURIComponent(trace.session)}`}>
                Others of this session
              </Button>
            )}
            <Button variant="default" component={Link} to={`/try?trace=${encodeURIComponent(trace.id)}`}>
              Try this prompt
            </Button>
          </Head>
          {learned.length > 0 && (
            <section className="panel learned-from" aria-label="Learned from it">
                <h2>Learned from it</h2>
                {learned.map((one) => (
                  <p key={one.memory_id}>
                    <Kind name={one.kind} /> <Link to={`/memories/${one.memory_id}`}>{one.content}</Link> <State name={one.status} /> <span className="mono faint">{one.memory_id}</span>
                  </p>
                ))}
            </section>
          )}
          <TraceView trace={trace} verdicts={verdicts} />
        </>
      )}
    </Answer>
  );
}

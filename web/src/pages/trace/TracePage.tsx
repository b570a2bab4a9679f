import { Button } from "@mantine/core";
import { Link, useParams } from "react-router";
import { useTrace } from "../../api/queries";
import { TraceView } from "../../trace/TraceView";
import { Answer } from "../../ui/Answer";
import { Head } from "../../ui/Head";

export function Component() {
  const { id = "" } = useParams();
  const asked = useTrace(id);
  return (
    <Answer of={asked} rows={12}>
      {({ trace, verdicts }) => (
        <>
          <Head title={trace.summary ? `${trace.summary} given` : "Silence"} text={trace.sentence}>
            {trace.session !== "" && (
              <Button variant="default" component={Link} to={`/traces?session=${encodeURIComponent(trace.session)}`}>
                Others of this session
              </Button>
            )}
            <Button variant="default" component={Link} to={`/try?trace=${encodeURIComponent(trace.id)}`}>
              Try this prompt
            </Button>
          </Head>
          <TraceView trace={trace} verdicts={verdicts} />
        </>
      )}
    </Answer>
  );
}

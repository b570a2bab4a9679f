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
          <Head
            title={trace.summary ? `${trace.summary} injected` : "Silence"}
            text={trace.injected.length > 0 ? `${trace.tokens} tokens, for what was about to happen.` : `${sentence(trace.silence)}`}
          >
            {trace.session !== "" && (
              <Button variant="default" component={Link} to={`/traces?session=${encodeURIComponent(trace.session)}`}>
                Others of this session
              </Button>
            )}
            <Button variant="default" component={Link} to={`/playground?trace=${encodeURIComponent(trace.id)}`}>
              Try in the playground
            </Button>
          </Head>
          <TraceView trace={trace} verdicts={verdicts} />
        </>
      )}
    </Answer>
  );
}

function sentence(reason: string): string {
  return reason === "" ? "Nothing was injected." : `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}

import { Button } from "@mantine/core";
import { Link } from "react-router";
import { useApply, useWhyNot, type Question } from "../../api/queries";
import type { WhyNot as Reply } from "../../api/types";
import { EvidenceBars } from "../../trace/EvidenceBars";
import { Answer } from "../../ui/Answer";
import { Kind } from "../../ui/Kind";
import { sayChanged } from "../../ui/said";
import { Words } from "../../ui/Words";

interface Props {
  id: string;
  asked: Question;
  /** The recorded recall that is asked again, if it is one. */
  trace: string | undefined;
  /** Ask again what the question is given, after a change. */
  again: () => void;
}

/** Why the question is not given the memory `id`: in a sentence, the evidence, what lets it through. */
export function WhyNot({ id, asked, trace, again }: Props) {
  const found = useWhyNot(id, asked, trace);
  return (
    <section className="panel why-not" aria-label="Why it is not given">
      <Answer of={found} rows={3}>
        {(reply) => <Told reply={reply} again={again} />}
      </Answer>
    </section>
  );
}

function Told({ reply, again }: { reply: Reply; again: () => void }) {
  const { memory, remedies } = reply;
  const [first, ...others] = reply.sentences;
  return (
    <>
      <p className="why-not-memory">
        <Kind name={memory.kind} /> <Link to={`/memories/${memory.id}`}>{memory.content}</Link>
      </p>
      <p className={reply.given ? "why-not-first kept" : "why-not-first"}>{first}</p>
      <EvidenceBars evidence={reply.evidence} />
      {others.map((sentence) => (
        <p key={sentence}><Words text={sentence} /></p>
      ))}
      {remedies.length > 0 && (
        <>
          <h3>If it should have come, this lets it through</h3>
          <ul>
            {remedies.map((remedy) => (
              <li key={remedy.text}>
                <span>
                  {remedy.text} <span className="faint">{remedy.measured}</span>
                </span>
                <Apply reply={reply} remedy={remedy} again={again} />
              </li>
            ))}
          </ul>
          <p className="faint">Each was tried with the same recall, and changes this memory alone.</p>
        </>
      )}
      <details className="fold">
        <summary>Details</summary>
        {reply.details.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        {remedies
          .flatMap((remedy) => remedy.steps)
          .filter((step) => step.command !== "")
          .map((step) => (
            <p key={step.command} className="mono">{step.command}</p>
          ))}
      </details>
    </>
  );
}

/** Make the changes of a remedy with one click; the message that says so takes them back. What only the user can do, such as a new session, has no button. */
function Apply({ reply, remedy, again }: { reply: Reply; remedy: Reply["remedies"][number]; again: () => void }) {
  const apply = useApply(reply.memory);
  const able = remedy.steps.every(({ kind }) => kind !== "new_session" && kind !== "opt_in" && kind !== "unmute");
  if (!able) return null;
  return (
    <Button size="compact-xs" loading={apply.isPending} onClick={() => apply.mutate(remedy.steps, { onSuccess: (changed) => (sayChanged(`Done: ${remedy.text}`, changed), again()) })}>
      Do it
    </Button>
  );
}

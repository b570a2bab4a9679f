import { CopyButton } from "@mantine/core";
import { Link } from "react-router";
import { useWhyNot, type Question } from "../../api/queries";
import type { WhyNot as Reply } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Kind } from "../../ui/Kind";

/** Why the question is not given the memory `id`, and what lets it through. `trace` = the recorded recall that is asked again, if it is one. */
export function WhyNot({ id, asked, trace }: { id: string; asked: Question; trace: string | undefined }) {
  const found = useWhyNot(id, asked, trace);
  return (
    <section className="panel why-not" aria-label="Why it is not given">
      <Answer of={found} rows={3}>
        {(reply) => <Told reply={reply} />}
      </Answer>
    </section>
  );
}

function Told({ reply }: { reply: Reply }) {
  const { memory } = reply;
  return (
    <>
      <p className="why-not-memory">
        <Kind name={memory.kind} /> <Link to={`/memories/${memory.id}`}>{memory.content}</Link>
      </p>
      {reply.sentences.map((sentence, at) => (
        <p key={sentence} className={at === 0 ? (reply.given ? "why-not-first kept" : "why-not-first") : undefined}>
          {sentence}
        </p>
      ))}
      {reply.remedies.length > 0 && (
        <>
          <h3>What lets it through</h3>
          <p className="faint">Each line was tried with the same recall.</p>
          <ul>
            {reply.remedies.map((remedy) => (
              <li key={remedy.text}>
                {remedy.text}
                {remedy.steps
                  .filter((step) => step.command !== "")
                  .map((step) => (
                    <CopyButton key={step.command} value={step.command}>
                      {({ copied, copy }) => (
                        <button type="button" className="why-not-command mono" onClick={copy} aria-label={copied ? "Copied" : `Copy ${step.command}`}>
                          {step.command}
                        </button>
                      )}
                    </CopyButton>
                  ))}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

import { Button } from "@mantine/core";
import { useTryModel } from "../../api/queries";
import type { Group } from "./questions";
import { ProblemBox } from "../../ui/Answer";

/** Asks the model of a section one question, and says what was sent, what came and what it cost, or what is wrong. */
export function TestModel({ section }: { section: NonNullable<Group["model"]> }) {
  const { mutate, data, error, isPending } = useTryModel();
  return (
    <div className="model-test">
      <Button variant="default" loading={isPending} onClick={() => mutate(section)}>
        Test it
      </Button>
      <div aria-live="polite">
        {error !== null && <ProblemBox error={error} />}
        {data === undefined && <span className="faint">Sends one question without a word of yours.</span>}
        {data?.works === true && (
          <p>
            <b className="kept">{data.model} answers.</b> Sent: “{data.sent}” Came: “{data.answer}” after {data.seconds.toFixed(1)} seconds, {data.tokens_in} tokens in and {data.tokens_out} out.
          </p>
        )}
        {data?.works === false && (
          <p>
            <b className="setting-problem">{data.problem}</b> {data.hint}
          </p>
        )}
      </div>
    </div>
  );
}

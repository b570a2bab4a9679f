import { Button, Group, Textarea } from "@mantine/core";
import { useState } from "react";
import { ProblemBox } from "./Answer";
import { Difference } from "./Difference";

interface Props {
  label: string;
  given: string;
  /** What stands on the button. */
  name: string;
  busy: boolean;
  optional?: boolean;
  /** The words as they are given are nothing to be done with. */
  changed?: boolean;
  /** Show below what was changed. */
  differs?: boolean;
  error?: unknown;
  done: (words: string) => void;
  cancel: () => void;
}

/** A text to write or to change; Ctrl+Enter is done, Escape cancels. */
export function Rewrite({ label, given, name, busy, optional = false, changed = false, differs = false, error = null, done, cancel }: Props) {
  const [words, setWords] = useState(given);
  const ready = (optional || words.trim() !== "") && !(changed && words.trim() === given.trim());
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) done(words.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") cancel();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && ready) done(words.trim());
      }}
    >
      <Textarea label={label} autosize minRows={2} value={words} onChange={(event) => setWords(event.currentTarget.value)} autoFocus />
      {differs && words !== given && (
        <p className="faint">
          <Difference before={given} after={words} />
        </p>
      )}
      {error !== null && <ProblemBox error={error} />}
      <Group gap={8}>
        <Button type="submit" loading={busy} disabled={!ready}>
          {name}
        </Button>
        <Button variant="default" onClick={cancel}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}

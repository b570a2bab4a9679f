import { Button, Code, Textarea } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { useRemember } from "../api/queries";
import { Head } from "./Head";
import { say } from "./said";

/** What a person sees before anything is known: three steps, the first of them right here. */
export function FirstSteps({ children }: { children?: ReactNode }) {
  const [text, setText] = useState("");
  const remember = useRemember();
  return (
    <>
      <Head title="Nothing is remembered yet" text="Three steps to the first memory that comes back by itself." />
      {children}
      <ol className="steps">
        <li className="panel">
          <h2>Say one thing that always holds</h2>
          <p className="sub">It is handed to your agent when the moment comes, in every project.</p>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              remember.mutate({ content: text, scope: "universal" }, { onSuccess: () => { setText(""); say("Remembered", "It comes back when it applies."); } });
            }}
          >
            <Textarea aria-label="One thing that always holds" placeholder="Answer briefly; show a diff instead of prose." autosize minRows={2} value={text} onChange={(event) => setText(event.currentTarget.value)} />
            <Button type="submit" mt={8} loading={remember.isPending} disabled={text.trim() === ""}>
              Remember
            </Button>
          </form>
        </li>
        <li className="panel">
          <h2>Let your agents ask</h2>
          <p className="sub">Finds the agents on this machine, shows what it will write, asks once.</p>
          <Code block>tacit install</Code>
        </li>
        <li className="panel">
          <h2>Learn from what is there</h2>
          <p className="sub">Imports CLAUDE.md, AGENTS.md and the like; offers to read past sessions.</p>
          <Code block>{"cd your-project\ntacit init"}</Code>
        </li>
      </ol>
    </>
  );
}

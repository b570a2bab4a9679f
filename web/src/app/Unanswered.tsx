import { Alert, Code } from "@mantine/core";
import { useAnswering } from "../api/client";

/** What stands above every page while the daemon does not answer. It goes away by itself. */
export function Unanswered() {
  if (useAnswering()) return null;
  return (
    <Alert color="red" title="The daemon does not answer" mb="md" role="alert">
      What you see is what it said last. It leaves by itself when nobody asks for long. Start it with <Code>tacit ui</Code>; this page then goes on by itself.
    </Alert>
  );
}

import { Button, Center, Code, Stack, Text, Title } from "@mantine/core";
import { useEffect } from "react";
import { useRouteError } from "react-router";

/** Whether the daemon was away since the page was loaded. Kept here, because the sign-in page may be shown meanwhile, and this one anew after it. */
let away = false;

/** What is shown when a page itself fails. */
export function Broken() {
  const error = useRouteError();
  // A page's code that does not come is a TypeError, its style an Error of the build's own.
  const gone = error instanceof Error && (error instanceof TypeError ? /import|fetch|load/i : /^Unable to preload/).test(error.message);
  useEffect(() => {
    if (!gone) return undefined;
    // A page that fails while the daemon answers would fail again.
    const look = () => void fetch("/ui/").then(({ ok }) => { if (ok && away) location.reload(); }, () => { away = true; });
    look();
    const timer = setInterval(look, 1500);
    return () => clearInterval(timer);
  }, [gone]);
  return (
    <Center component="main" mih="100dvh" p="lg">
      <Stack maw={520}>
        <Title order={1} size="h2">
          {gone ? "The daemon does not answer" : "This page failed"}
        </Title>
        {gone ? (
          <Text size="sm">It leaves by itself when nobody asks for long, and a new version replaces it. Run `tacit ui` again. This page then goes on by itself.</Text>
        ) : (
          <Code block>{error instanceof Error ? error.message : String(error)}</Code>
        )}
        <Button onClick={() => location.reload()} w="fit-content">
          Load again
        </Button>
      </Stack>
    </Center>
  );
}

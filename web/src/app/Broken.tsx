import { Button, Center, Code, Stack, Text, Title } from "@mantine/core";
import { useRouteError } from "react-router";

/** What is shown when a page itself fails. */
export function Broken() {
  const error = useRouteError();
  return (
    <Center component="main" mih="100dvh" p="lg">
      <Stack maw={520}>
        <Title order={1} size="h2">
          This page failed
        </Title>
        <Code block>{error instanceof Error ? error.message : String(error)}</Code>
        <Text size="sm">A new version of Tacit may have been started meanwhile; loading the page again often helps.</Text>
        <Button onClick={() => location.reload()} w="fit-content">
          Load again
        </Button>
      </Stack>
    </Center>
  );
}

import picture from "./tacit.svg";
import { Center, Code, Stack, Text, Title } from "@mantine/core";
import { useEffect, useState, type ReactNode } from "react";
import { hasKey, onSignedInElsewhere, onSignedOut } from "../api/client";

/** The page itself, or how to get in. */
export function SignedOut({ signedIn, children }: { signedIn: boolean; children: ReactNode }) {
  const [inside, setInside] = useState(signedIn);
  useEffect(() => {
    const stops = [onSignedOut(() => setInside(false)), onSignedInElsewhere(() => setInside(true))];
    if (!hasKey()) setInside(false); // refused while this was still being drawn
    return () => stops.forEach((stop) => stop());
  }, []);
  if (inside) return children;
  return (
    <Center component="main" mih="100dvh" p="lg">
      <Stack gap="sm" maw={460}>
        <img src={picture} width={44} height={44} alt="" />
        <Title order={1} size="h2">
          Sign in from your terminal
        </Title>
        <Text>
          Run <Code>tacit ui</Code>. It opens this page with a link that works once and for two minutes. This tab follows by itself.
        </Text>
        <Text c="dimmed" size="sm">
          Only this computer can reach the page, and only a browser that came with such a link can read your memories. Links end when the
          daemon does.
        </Text>
      </Stack>
    </Center>
  );
}

import { Anchor, Code, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { Words } from "./Words";

/** Nothing to show, and the first step that changes that. */
export function Empty({ title, text, command, to, link, level = 2, children }: {
  title: string;
  level?: 1 | 2;
  text: ReactNode;
  command?: string;
  to?: string;
  link?: string;
  children?: ReactNode;
}) {
  return (
    <Stack className="empty" gap={6} align="flex-start">
      <Title order={level} size="h4">
        {title}
      </Title>
      <Text size="sm" maw={560} c="var(--ink-2)">
        {typeof text === "string" ? <Words text={text} /> : text}
      </Text>
      {command !== undefined && <Code block>{command}</Code>}
      {to !== undefined && (
        <Anchor component={Link} to={to} size="sm">
          {link}
        </Anchor>
      )}
      {children}
    </Stack>
  );
}

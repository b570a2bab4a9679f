import { Alert, Button, Skeleton, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ProblemError } from "../api/client";

/** What a query gives: bones while it is asked, the problem in the daemon's words, or the answer. */
export function Answer<T>({ of, rows = 6, children }: {
  of: UseQueryResult<T>;
  rows?: number;
  children: (value: T) => ReactNode;
}) {
  if (of.data !== undefined) return children(of.data);
  if (of.error !== null) return <ProblemBox error={of.error} again={() => void of.refetch()} />;
  return (
    <Stack gap={8} role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={row === 0 ? 28 : 18} width={`${96 - ((row * 17) % 38)}%`} />
      ))}
    </Stack>
  );
}

export function ProblemBox({ error, again }: { error: unknown; again?: () => void }) {
  const problem = error instanceof ProblemError ? error.problem : undefined;
  return (
    <Alert color="red" icon={<IconAlertTriangle size={18} />} title={problem?.title ?? "This page failed"} role="alert">
      <Text size="sm">{problem?.detail ?? String(error)}</Text>
      {problem?.hint !== undefined && problem.hint !== "" && (
        <Text size="sm" mt={4}>
          {problem.hint}
        </Text>
      )}
      {again !== undefined && (
        <Button mt="sm" variant="default" onClick={again}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

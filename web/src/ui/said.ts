/** Short messages in the corner. */
import { notifications } from "@mantine/notifications";
import { ProblemError } from "../api/client";

export function sayProblem(error: unknown): void {
  const problem = error instanceof ProblemError ? error.problem : undefined;
  notifications.show({
    color: "red",
    title: problem?.detail ?? "Something failed in this page",
    message: problem?.hint ?? String(error),
    autoClose: 12_000,
  });
}

export function say(title: string, message = ""): void {
  notifications.show({ title, message, color: "pine", autoClose: 5_000 });
}

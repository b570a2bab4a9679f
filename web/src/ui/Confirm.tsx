import { Button, Group, Modal, Stack, Text, type ButtonProps } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { ProblemBox } from "./Answer";

interface Props extends ButtonProps {
  /** What stands on the button, and what it says to whoever hears the page; left out = the same. */
  name: string;
  label?: string;
  title: string;
  /** What follows from it. */
  text: ReactNode;
  /** What stands on the button that does it; left out = `name`. */
  does?: string;
  bad?: boolean;
  /** Whether all that it needs was given. */
  ready?: boolean;
  act: () => Promise<unknown>;
  onOpen?: () => void;
  children?: ReactNode;
}

/** A button that asks before it does what it says; a refusal stands where it was asked. */
export function Confirm({ name, label = name, title, text, does = name, bad = false, ready = true, act, onOpen, children, ...button }: Props) {
  const [opened, setOpened] = useState(false);
  const work = useMutation({ mutationFn: act, onSuccess: () => setOpened(false), meta: { quiet: true } });
  const open = () => {
    work.reset();
    onOpen?.();
    setOpened(true);
  };
  return (
    <>
      <Button variant="default" {...(bad && { c: "var(--bad)" })} {...button} onClick={open} aria-label={label}>
        {name}
      </Button>
      <Modal opened={opened} onClose={() => setOpened(false)} title={title} size="md">
        <Stack gap="sm">
          <Text size="sm">{text}</Text>
          {children}
          {work.error !== null && <ProblemBox error={work.error} />}
          <Group gap={8}>
            <Button {...(bad && { color: "red" })} loading={work.isPending} disabled={!ready} onClick={() => work.mutate()} data-autofocus>
              {does}
            </Button>
            <Button variant="default" onClick={() => setOpened(false)}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

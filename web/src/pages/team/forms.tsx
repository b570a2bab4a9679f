import { Button, Code, CopyButton, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { isService, ROLES, useAddTeam, usePutMember, usePutService, type Role } from "../../api/teams";
import type { AddedMember } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { say } from "../../ui/said";
import { dateOf } from "../../ui/words";

interface FormProps {
  title: string;
  name: string;
  ready: boolean;
  busy: boolean;
  error: Error | null;
  send: () => void;
  close: () => void;
  children: ReactNode;
}

function Form({ title, name, ready, busy, error, send, close, children }: FormProps) {
  return (
    <Modal opened onClose={close} title={title} size="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) send();
        }}
      >
        <Stack gap="sm">
          {children}
          {error !== null && <ProblemBox error={error} />}
          <Group gap={8}>
            <Button type="submit" loading={busy} disabled={!ready}>
              {name}
            </Button>
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** A secret that is not shown again. */
function Once({ title, text, secret, after, close }: { title: string; text: string; secret: string; after?: string; close: () => void }) {
  return (
    <Modal opened onClose={close} title={title} size="lg" closeOnClickOutside={false}>
      <Stack gap="sm">
        <Text size="sm">{text}</Text>
        <Code block className="team-secret">
          {secret}
        </Code>
        {after !== undefined && <Text size="sm">{after}</Text>}
        <Group gap={8}>
          <CopyButton value={secret}>{({ copied, copy }) => <Button onClick={copy} data-autofocus>{copied ? "Copied" : "Copy"}</Button>}</CopyButton>
          <Button variant="default" onClick={close}>
            Close
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

const roleOptions = (roles: Role[]) => roles.map((role) => ({ value: role, label: role }));

export function AddMember({ team, url, close }: { team: string; url: string; close: () => void }) {
  const [account, setAccount] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("writer");
  const [added, setAdded] = useState<AddedMember>();
  const put = usePutMember();
  if (added !== undefined)
    return (
      <Once
        title={`${added.member.name} is ${added.member.role} in ${team}`}
        text="Give them this code yourself, within seven days; it is shown this once. A new account logs in with it:"
        secret={`tacit login ${url} --code ${added.code} --first`}
        after="Who has the account already leaves out --first. Add them again for another code."
        close={close}
      />
    );
  const send = () =>
    put.mutate(
      { team, principal: account.trim(), role, name: name.trim() },
      {
        onSuccess: (done) => {
          if (done.code !== "") return setAdded(done);
          say(`${done.member.name} is ${done.member.role} in ${team}`, done.member.joined || isService(done.member.principal) ? "" : "They get its memories when they come in.");
          close();
        },
      },
    );
  return (
    <Form title={`Add a person to ${team}`} name="Add" ready={account.trim() !== ""} busy={put.isPending} error={put.error} send={send} close={close}>
      <TextInput label="Account" description="Lower-case letters, digits and hyphens." value={account} onChange={(event) => setAccount(event.currentTarget.value)} data-autofocus required />
      <TextInput label="Name" description="As teammates see it. Leave it empty to keep the name that the server knows." value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <Select label="Role" data={roleOptions(ROLES)} value={role} onChange={(value) => value !== null && setRole(value as Role)} allowDeselect={false} />
    </Form>
  );
}

export function AddService({ organization, close }: { organization: string; close: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("reader");
  const [days, setDays] = useState<number | string>(90);
  const [added, setAdded] = useState<AddedMember>();
  const put = usePutService();
  if (added !== undefined)
    return <Once title={`Token of ${added.member.principal}`} text={`It holds until ${dateOf(added.member.until_ms)} and is shown this once:`} secret={added.token} close={close} />;
  const ready = name.trim() !== "" && typeof days === "number";
  const send = () => put.mutate({ team: organization, name: name.trim(), role, days: Number(days) }, { onSuccess: setAdded });
  return (
    <Form title={`Service account of ${organization}`} name="Make the token" ready={ready} busy={put.isPending} error={put.error} send={send} close={close}>
      <Text size="sm">For agents in CI or the cloud. It decides nothing. One that exists gets a new token, and the one before ends at once.</Text>
      <TextInput label="Name" description="Lower-case letters, digits and hyphens." value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus required />
      <Select label="Role" data={roleOptions(ROLES.slice(0, 2))} value={role} onChange={(value) => value !== null && setRole(value as Role)} allowDeselect={false} />
      <NumberInput label="Days that its token holds" min={1} max={366} value={days} onChange={setDays} />
    </Form>
  );
}

export function AddTeam({ organization, close, choose }: { organization: string; close: () => void; choose: (team: string) => void }) {
  const [name, setName] = useState("");
  const add = useAddTeam();
  const team = `${organization}/${name.trim()}`;
  const send = () => add.mutate(team, { onSuccess: () => { say(`Made ${team}`, "You administer it."); choose(team); close(); } });
  return (
    <Form title={`New team of ${organization}`} name="Make the team" ready={name.trim() !== ""} busy={add.isPending} error={add.error} send={send} close={close}>
      <TextInput label="Name" description="Lower-case letters, digits and hyphens." leftSection={<span className="faint">{organization}/</span>} leftSectionWidth={organization.length * 7 + 22} value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus required />
    </Form>
  );
}

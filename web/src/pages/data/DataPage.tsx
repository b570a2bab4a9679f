import "./data.css";
import { Select, Tabs } from "@mantine/core";
import { Link, useNavigate, useParams } from "react-router";
import { useProjects } from "../../api/queries";
import { useLogin } from "../../api/teams";
import { Head } from "../../ui/Head";
import { Backups } from "./Backups";
import { Changes } from "./Changes";
import { Export } from "./Export";
import { Import } from "./Import";
import { Remove } from "./Remove";

const PARTS = [
  { value: "changes", label: "Changes", room: Changes },
  { value: "export", label: "Export", room: Export },
  { value: "import", label: "Import", room: Import },
  { value: "remove", label: "Remove", room: Remove },
  { value: "backups", label: "Backups", room: Backups },
];

export function Component() {
  const { part = "changes" } = useParams();
  const navigate = useNavigate();
  const joined = useLogin() !== undefined;
  return (
    <>
      <Head title="Data" text={<>What was changed, what leaves and enters the store, what is removed for good, and what is kept in case. {!joined && <>To share with others, press Share beside a memory, or <Link to="/team">join a team's server</Link>.</>}</>} />
      <Tabs value={PARTS.some((one) => one.value === part) ? part : "changes"} onChange={(value) => void navigate(`/data/${value}`)} keepMounted={false} className="data-tabs">
        <Tabs.List mb={14}>
          {PARTS.map(({ value, label }) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {PARTS.map(({ value, room: Room }) => (
          <Tabs.Panel key={value} value={value}>
            <Room />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}

/** A project by its folder; "" = none. */
export function ProjectSelect({ label, placeholder, description, value, set }: { label: string; placeholder: string; description?: string; value: string; set: (folder: string) => void }) {
  const projects = useProjects().data ?? [];
  return (
    <Select
      label={label}
      {...(description !== undefined && { description })}
      placeholder={placeholder}
      clearable
      searchable
      data={projects.filter(({ project }) => project.root !== "").map(({ project }) => ({ value: project.root, label: project.name }))}
      value={value === "" ? null : value}
      onChange={(folder) => set(folder ?? "")}
    />
  );
}

import { Select } from "@mantine/core";
import { useSearchParams } from "react-router";
import type { Team } from "../../api/types";

/** The team that the address names, where the user is in it; else the first one, or "" where all are meant. */
export function useChosenTeam(teams: readonly Team[], every = false): [string, (team: string | null) => void] {
  const [params, setParams] = useSearchParams();
  const named = params.get("team") ?? "";
  const known = teams.some((one) => one.team === named);
  const choose = (team: string | null) =>
    setParams(
      (now) => {
        if (team === null || team === "") now.delete("team");
        else now.set("team", team);
        return now;
      },
      { replace: true },
    );
  return [known ? named : every ? "" : (teams[0]?.team ?? ""), choose];
}

export function TeamSelect({ teams, value, choose, every = false }: { teams: readonly Team[]; value: string; choose: (team: string | null) => void; every?: boolean }) {
  return (
    <Select
      aria-label="Team"
      {...(every && { placeholder: "All your teams", clearable: true })}
      data={teams.map((one) => one.team)}
      value={value === "" ? null : value}
      onChange={choose}
      allowDeselect={every}
      w={220}
    />
  );
}

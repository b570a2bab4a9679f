/** What the page asks and does about teams on a server. The daemon asks the server; only what is known in the home comes without it. */
import { useInfiniteQuery, useMutation, useQueries, useQuery } from "@tanstack/react-query";
import { allOf, api, body } from "./client";
import { renewMemories, statusOptions } from "./queries";
import { queryClient } from "./queryClient";
import type { Member, Team } from "./types";

export type Role = Member["role"];

/** From the least rights to the most. */
export const ROLES: Role[] = ["reader", "writer", "admin"];

export const mayAs = (role: string, least: Role): boolean => ROLES.indexOf(role as Role) >= ROLES.indexOf(least);

export const organizationOf = (team: string): string => team.split("/")[0]!;

/** A service account carries the name of its organization, as in `acme/ci`; it never joins and never decides. */
export const isService = (account: string): boolean => account.includes("/");

/** Whether the user may manage a team: its administrators, and those of its organization. */
export const mayManage = (teams: readonly Team[], team: string): boolean =>
  teams.some((one) => (one.team === team || one.team === organizationOf(team)) && one.role === "admin");

const LOGIN_MS = 60_000;

/** The home's login at a server, where there is one. Taken from the status that other parts ask for; new recalls do not renew it. */
/** The login of this home; null = it has none, undefined = not known yet. */
export const useLogin = () => {
  const sync = useQuery({
    queryKey: ["login"],
    queryFn: async () => (await queryClient.fetchQuery({ ...statusOptions, staleTime: LOGIN_MS })).sync,
    staleTime: LOGIN_MS,
  }).data;
  return sync === undefined ? undefined : sync?.logged_in ? sync : null;
};

export const useSync = () => useQuery({ queryKey: ["sync"], queryFn: async () => (await body(api.GET("/v1/sync"))).sync, refetchInterval: 15_000 });

export const useDevices = () => useQuery({ queryKey: ["devices"], queryFn: () => allOf((more) => body(api.GET("/v1/sync", { params: { query: { devices: true, ...more } } })), (part) => part.devices) });

export const useTeams = (enabled = true) =>
  useQuery({ enabled, queryKey: ["teams"], queryFn: async () => (await body(api.GET("/v1/teams"))).teams, staleTime: 30_000, refetchInterval: 60_000 });

export const useKnownTeams = (enabled = true) =>
  useQuery({ enabled, queryKey: ["known-teams"], queryFn: async () => (await body(api.GET("/v1/teams", { params: { query: { view: "home" } } }))).known });

/** Requests that the user may decide. Where the server could not be reached last, it is not asked for them. */
export const useWaitingRequests = (): number => {
  const login = useLogin();
  const teams = useTeams(login != null && login.error === "");
  return teams.data?.reduce((sum, one) => sum + one.waiting, 0) ?? 0;
};

const membersOf = (team: string) => ({
  queryKey: ["members", team],
  queryFn: () => allOf((more) => body(api.GET("/v1/teams/members", { params: { query: { team, ...more } } })), (part) => part.members),
  staleTime: 30_000,
});

export const useMembers = (team: string) => useQuery(membersOf(team));

/** How many members each team has, as far as that is known by now. */
export const useMemberCounts = (teams: readonly Team[]): (number | undefined)[] =>
  useQueries({ queries: teams.map((one) => membersOf(one.team)) }).map((asked) => asked.data?.length);

export const useRequests = (team: string, every: boolean) =>
  useQuery({
    queryKey: ["share-requests", team, every],
    queryFn: () => allOf((more) => body(api.GET("/v1/teams/requests", { params: { query: { team, every, ...more } } })), (part) => part.requests),
    staleTime: 0,
    refetchInterval: 15_000,
  });

/** The memories that came from a team and are or were known here. */
export const useTeamMemories = (team: string, enabled: boolean) =>
  useQuery({
    enabled,
    queryKey: ["memories", "team", team],
    queryFn: () => allOf((more) => body(api.GET("/v1/memories", { params: { query: { source: `team ${team}`, status: ["all"], limit: 500, ...more } } })), (part) => part.memories),
  });

const AUDIT_ROWS = 50;

export const useAudit = (team: string) =>
  useInfiniteQuery({
    queryKey: ["audit", team],
    queryFn: ({ pageParam }) => body(api.GET("/v1/teams/audit", { params: { query: { team, limit: AUDIT_ROWS, ...(pageParam !== "" && { cursor: pageParam }) } } })),
    initialPageParam: "",
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

function renewTeams() {
  for (const key of ["teams", "known-teams", "members", "share-requests", "audit", "sync", "devices"]) void queryClient.invalidateQueries({ queryKey: [key] });
  renewMemories();
}

const quiet = { quiet: true };

export const useSyncNow = () => useMutation({ mutationFn: () => body(api.POST("/v1/sync")), onSettled: renewTeams });

export const useRevoke = () =>
  useMutation({ mutationFn: (device: string) => body(api.POST("/v1/sync/devices", { body: { revoked: device } })), onSuccess: renewTeams, meta: quiet });

export const useLeave = () =>
  useMutation({ mutationFn: (team: string) => body(api.PATCH("/v1/teams", { body: { team, left: true } })), onSuccess: renewTeams, meta: quiet });

export const useAddTeam = () =>
  useMutation({ mutationFn: (team: string) => body(api.POST("/v1/teams", { body: { team } })), onSuccess: renewTeams, meta: quiet });

export const usePutMember = () =>
  useMutation({
    mutationFn: async (member: { team: string; principal: string; role: Role; name: string }) => (await body(api.PUT("/v1/teams/members", { body: member }))).added!,
    onSuccess: renewTeams,
    meta: quiet,
  });

export const useRemoveMember = () =>
  useMutation({
    mutationFn: (member: { team: string; principal: string }) => body(api.PUT("/v1/teams/members", { body: { ...member, member: false } })),
    onSuccess: renewTeams,
    meta: quiet,
  });

export const usePutProject = () =>
  useMutation({ mutationFn: ({ team, cwd }: { team: string; cwd: string }) => body(api.PATCH("/v1/teams", { body: { team, project: { cwd, remote: "", allowed: true } } })), onSuccess: renewTeams, meta: quiet });

export const useRemoveProject = () =>
  useMutation({
    mutationFn: ({ team, remote }: { team: string; remote: string }) => body(api.PATCH("/v1/teams", { body: { team, project: { remote, cwd: "", allowed: false } } })),
    onSuccess: renewTeams,
    meta: quiet,
  });

export const usePutService = () =>
  useMutation({
    mutationFn: async ({ name, ...account }: { team: string; name: string; role: Role; days: number }) =>
      (await body(api.PUT("/v1/teams/members", { body: { ...account, principal: name, service: true } }))).added!,
    onSuccess: renewTeams,
    meta: quiet,
  });

export const useAskToShare = () =>
  useMutation({
    mutationFn: async ({ id, team }: { id: string; team: string }) => (await body(api.PUT("/v1/shares", { body: { id, team } }))).request!,
    onSuccess: renewTeams,
    meta: quiet,
  });

export const useShareByFile = () =>
  useMutation({
    mutationFn: async (asked: { id: string; cwd: string; by: string }) => (await body(api.PUT("/v1/shares", { body: asked }))).file!.path,
    meta: quiet,
  });

export interface RequestDecision {
  id: string;
  decision: "accept" | "refuse" | "withdraw";
  content?: string;
  replaces?: string[];
  comment?: string;
}

export const useDecideRequest = () =>
  useMutation({
    mutationFn: ({ id, decision, content = "", replaces = [], comment = "" }: RequestDecision) =>
      body(api.PATCH("/v1/teams/requests", { body: { id, decision, content, replaces, comment } })),
    onSuccess: renewTeams,
    meta: quiet,
  });

export const useUnshare = () =>
  useMutation({
    mutationFn: ({ id, purge }: { id: string; purge: boolean }) => body(api.PUT("/v1/shares", { body: { id, shared: false, purge } })),
    onSuccess: renewTeams,
    meta: quiet,
  });

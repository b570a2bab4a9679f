/** What the page asks for what leaves the store, comes in, is removed for good, is replaced, or was changed. */
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { allOf, api, body, isRefusal } from "./client";
import { renewMemories } from "./queries";
import { queryClient } from "./queryClient";
import type { components } from "./schema";
import type { ChangeEntry, ImportedFile } from "./types";

const cursorOf = (last: { next_cursor: string | null }) => last.next_cursor ?? undefined;

// --- out

export type ExportFormat = "jsonl" | "markdown";

/** The export as text; the browser keeps it as a file. */
export const useReadExport = () =>
  useMutation({
    mutationFn: async (asked: { format: ExportFormat; cwd: string }) => (await body(api.POST("/v1/export", { body: { ...asked, target: "" } }))).text,
    meta: { quiet: true },
  });

export const useWriteExport = () =>
  useMutation({
    mutationFn: (asked: { format: ExportFormat; cwd: string; target: string }) => body(api.POST("/v1/export", { body: asked })),
    meta: { quiet: true },
  });

/** How many memories an export holds: those of every state, or what Markdown shows. */
export const useExportedCount = (format: ExportFormat, cwd: string) =>
  useQuery({
    queryKey: ["memories", "exported", format, cwd],
    queryFn: async () =>
      (await body(api.GET("/v1/memories", { params: { query: { cwd, limit: 1, status: format === "jsonl" ? ["all"] : ["active", "quarantined"] } } }))).total,
  });

// --- in

export type ImportAsked = components["schemas"]["ImportMemories"];

export const useImport = () =>
  useMutation({
    mutationFn: (asked: ImportAsked) => body(api.POST("/v1/import", { body: asked })),
    onSuccess: ({ dry_run }) => {
      if (!dry_run) renewMemories();
    },
    meta: { quiet: true },
  });

/** How far a running import is; asked again and again while `enabled`. */
export const useImportProgress = (enabled: boolean) =>
  useQuery({
    queryKey: ["jobs", "import"],
    queryFn: async () => (await body(api.GET("/v1/jobs"))).jobs.find((one) => one.name === "import") ?? null,
    enabled,
    refetchInterval: enabled ? 400 : false,
    gcTime: 0,
  });

/** Take an import back: its changes, the last one first; then the memories of an export that came back as they were, which no change added. */
export const useUndoImport = (tell: (done: number, whole: number) => void) =>
  useMutation({
    mutationFn: async ({ change_ids, formats, lines }: ImportedFile) => {
      const added = formats.some(({ tool }) => tool === "tacit export") ? lines.filter((line) => line.action === "add") : [];
      const steps = [
        ...[...change_ids].reverse().map((id) => () => api.POST("/v1/undo", { body: { id, keep_both: false, memory: null } })),
        ...added.map((line) => () => forgetActive(line.memory_id)),
      ];
      let left = 0;
      for (const [done, step] of steps.entries()) {
        tell(done, steps.length);
        try {
          await step();
        } catch (error) {
          if (!isRefusal(error)) throw error;
          left += 1; // somebody changed it since: what they made of it stays
        }
      }
      return { left };
    },
    onSettled: renewMemories,
    meta: { quiet: true },
  });

async function forgetActive(id: string): Promise<void> {
  const path = { params: { path: { id } } };
  const { memory } = await body(api.GET("/v1/memories/{id}", path));
  if (memory.status === "active" || memory.status === "quarantined") await api.DELETE("/v1/memories/{id}", { params: { ...path.params, query: { reason: "import taken back on the page" } } });
}

// --- past sessions

export interface PastAsked {
  /** A file or folder; "" = where the agents found here keep their sessions. */
  path: string;
  since_ms: number;
  subagents: boolean;
  dry_run: boolean;
}

export interface PastReport {
  hosts: { host: string; files: number; sessions: number; prompts: number; bad: number }[];
  learned: number;
  known: number;
  errors: string[];
  stopped: boolean;
}

/** Read past sessions, or look what would be read: one request for each file, so that it can be stopped between two. */
export const usePastSessions = (tell: (done: number, whole: number) => void) => {
  const stopped = useRef(false);
  const work = useMutation({
    mutationFn: async ({ path, since_ms, subagents, dry_run }: PastAsked): Promise<PastReport> => {
      stopped.current = false;
      tell(0, 0);
      const files = await allOf((more) => body(api.GET("/v1/transcripts", { params: { query: { since_ms, ...(path !== "" && { path: [path] }), ...more } } })), (part) => part.transcripts);
      const hosts = new Map<string, PastReport["hosts"][number]>();
      const report: PastReport = { hosts: [], learned: 0, known: 0, errors: [], stopped: false };
      for (const [done, file] of files.entries()) {
        if (stopped.current) break;
        tell(done, files.length);
        const { data } = await api.POST("/v1/transcripts", { body: { cwd: "", named: true, paths: [file.path], since_ms, subagents, dry_run, write_up: false } });
        report.learned += data!.added + data!.superseded;
        report.known += data!.merged;
        for (const { host, sessions, prompts, bad_lines, error } of data!.files) {
          if (error !== "") report.errors.push(error);
          if (sessions === 0) continue;
          const one = hosts.get(host) ?? { host, files: 0, sessions: 0, prompts: 0, bad: 0 };
          hosts.set(host, { host, files: one.files + 1, sessions: one.sessions + sessions, prompts: one.prompts + prompts, bad: one.bad + bad_lines });
        }
      }
      return { ...report, hosts: [...hosts.values()].sort((a, b) => a.host.localeCompare(b.host)), stopped: stopped.current };
    },
    onSettled: (_, __, { dry_run }) => {
      if (!dry_run) void queryClient.invalidateQueries();
    },
    meta: { quiet: true },
  });
  return { ...work, stop: () => { stopped.current = true; } };
};

// --- for good

export type PurgeAsked = { project: string } | { session: { host: string; session_id: string } } | { source: string } | { text: string } | { ids: string[]; shown?: boolean };

const MOST_PURGED = 5000;

export const usePurgePreview = () =>
  useMutation({
    mutationFn: (asked: PurgeAsked) => body(api.POST("/v1/purge", { body: { ...asked, dry_run: true } })),
    meta: { quiet: true },
  });

/** Purge what was shown, not what fits meanwhile; a project and a session go with all that is theirs. */
export const usePurge = () =>
  useMutation({
    mutationFn: async ({ asked, ids }: { asked: PurgeAsked; ids: string[] }) => {
      const whole = "project" in asked || "session" in asked;
      const parts: PurgeAsked[] = whole ? [asked] : Array.from({ length: Math.ceil(ids.length / MOST_PURGED) }, (_, at) => ({ ids: ids.slice(at * MOST_PURGED, (at + 1) * MOST_PURGED), shown: true }));
      const left: string[] = [];
      for (const part of parts) left.push(...(await body(api.POST("/v1/purge", { body: { ...part, dry_run: false } }))).left);
      return { left: [...new Set(left)] };
    },
    onSuccess: () => queryClient.invalidateQueries(),
    meta: { quiet: true },
  });

export const useRescan = () =>
  useMutation({
    mutationFn: (dry_run: boolean) => body(api.POST("/v1/rescan", { body: { dry_run } })),
    onSuccess: ({ dry_run }) => {
      if (!dry_run) void queryClient.invalidateQueries();
    },
    meta: { quiet: true },
  });

// --- backups

export const useBackups = () => useQuery({ queryKey: ["status", "backups"], queryFn: async () => (await body(api.GET("/v1/backups"))).copies });

export const useBackUp = () =>
  useMutation({
    mutationFn: (target: string) => body(api.POST("/v1/backups", { body: { target } })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["status"] }),
    meta: { quiet: true },
  });

export const useRestore = () =>
  useMutation({
    mutationFn: ({ source, dry_run }: { source: string; dry_run: boolean }) => body(api.POST("/v1/restore", { body: { source, dry_run } })),
    onSuccess: ({ dry_run }) => {
      if (!dry_run) void queryClient.invalidateQueries();
    },
    meta: { quiet: true },
  });

// --- changes, comparison

export interface ChangeFilter {
  cause?: ChangeEntry["cause"][];
  scope?: string[];
  since_ms?: number;
  until_ms?: number;
}

const CHANGE_ROWS = 60;

export const useChangeLog = (filter: ChangeFilter) =>
  useInfiniteQuery({
    queryKey: ["changes", "log", filter],
    queryFn: ({ pageParam }) => body(api.GET("/v1/changes", { params: { query: { ...filter, limit: CHANGE_ROWS, ...(pageParam !== "" && { cursor: pageParam }) } } })),
    initialPageParam: "",
    getNextPageParam: cursorOf,
  });

/** How many versions were written since a time, up to `MOST_COUNTED`. */
export const MOST_COUNTED = 500;

export const useChangedSince = (sinceMs: number, enabled: boolean) =>
  useQuery({
    queryKey: ["changes", "since", sinceMs],
    queryFn: async () => (await body(api.GET("/v1/changes", { params: { query: { since_ms: sinceMs, limit: MOST_COUNTED } } }))).changes.length,
    enabled,
  });

export const useHoldout = (sinceMs: number) =>
  useQuery({
    queryKey: ["timeline", "holdout", sinceMs],
    queryFn: async () => (await body(api.GET("/v1/stats", { params: { query: { part: ["holdout"], holdout_since_ms: sinceMs } } }))).holdout!,
  });

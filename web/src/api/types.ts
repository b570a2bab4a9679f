/** The values of the API as the page uses them. Times are milliseconds since the epoch. */

export type Surface = "start" | "prompt" | "action" | "failure" | "compaction" | "subagent" | "on_demand" | "host";
export type Status = "active" | "quarantined" | "superseded" | "retired";
export type Tier = "user" | "assistant" | "tool" | "import";

export interface Trigger {
  always: boolean;
  actions: [string, number][];
  objects: string[];
  paths: string[];
  languages: string[];
  commands: string[];
  tools: string[];
  topics: string[];
  breadth: number;
  maker: string;
  blocking: boolean;
}

export interface Memory {
  id: string;
  kind: string;
  content: string;
  scope: string;
  provenance: { tier: Tier; source: string; host: string; session_id: string; turn: number; span: string };
  validity: { valid_from_ms: number; valid_to_ms: number | null; superseded_by: string | null };
  created_at_ms: number;
  updated_at_ms: number;
  importance: number;
  confidence: number;
  trigger: Trigger;
  status: Status;
  sensitivity: string;
  entities: { kind: string; key: string }[];
  files: string[];
  error_signature: string;
  frequency: number;
  use_count: number;
  tokens: number;
  pinned: boolean;
  evidence: string[];
  content_hash: string;
}

export interface Situation {
  actions: [string, number][];
  objects: string[];
  paths: string[];
  languages: string[];
  commands: string[];
  accepted: boolean;
  nothing_coming: boolean;
  why: string[];
}

export interface Drop {
  memory_id: string;
  reason: string;
}

export interface StageRecord {
  stage: string;
  took_ms: number;
  kept: string[];
  drops: Drop[];
  notes: string[];
}

export interface TracedCandidate {
  memory_id: string;
  kind: string;
  content: string;
  scores: [string, number][];
  fused: number;
  relevance: number;
  reasons: string[];
}

export interface Trace {
  id: string;
  session: string;
  turn: number;
  epoch: number;
  surface: Surface;
  at_ms: number;
  preset: string;
  text: string;
  situation: Situation;
  stages: StageRecord[];
  candidates: TracedCandidate[];
  injected: string[];
  silence: string;
  threshold: number;
  block: string;
  tokens: number;
  budget_tokens: number;
  took_ms: number;
}

export interface Replayed {
  trace_id: string;
  threshold: number;
  was: number;
  before: string[];
  after: string[];
  added: string[];
  gone: string[];
  unsure: string[];
  shadow: boolean;
}

export interface Block {
  surface: Surface;
  text: string;
  tokens: number;
  memory_ids: string[];
}

export interface RecallRow {
  id: string;
  session: string;
  turn: number;
  epoch: number;
  surface: Surface;
  at_ms: number;
  preset: string;
  text: string;
  injected: string[];
  candidates: number;
  silence: string;
  shadow: boolean;
  tokens: number;
  budget_tokens: number;
  took_ms: number;
  threshold: number;
  best_relevance: number | null;
}

export interface Verdict {
  trace_id: string;
  memory_id: string;
  useful: boolean;
  injected: boolean;
  surface: string;
  relevance: number;
  threshold: number;
  trace_at_ms: number;
  at_ms: number;
}

export interface SessionRow {
  key: string;
  host: string;
  session_id: string;
  parent: string;
  project_id: string;
  project_root: string;
  cwd: string;
  agent: string;
  turn: number;
  epoch: number;
  started_at_ms: number;
  last_signal_at_ms: number;
  muted: boolean;
  incognito: boolean;
  ended: boolean;
  exposures: number;
  tokens: number;
}

export interface Handed {
  session: string;
  memory_id: string;
  surface: Surface;
  turn: number;
  epoch: number;
  tokens: number;
  at_ms: number;
  used: boolean | null;
}

export interface TurnView {
  turn: number;
  epoch: number;
  at_ms: number;
  recalls: RecallRow[];
  exposures: Handed[];
}

export interface SessionDetail {
  session: SessionRow;
  turns: TurnView[];
  prompts: string[];
  files: string[];
  tools: string[];
  failures: { tool: string; command: string; signature: string; error: string; turn: number }[];
  answers: number[];
  rule_files: string[];
}

export interface Bucket {
  at_ms: number;
  injections: number;
  silences: number;
  memories: number;
  p50_ms: number;
  p95_ms: number;
  tokens: Record<string, number>;
  useful: number;
  wrong: number;
  precision: number | null;
}

export interface Series {
  since_ms: number;
  until_ms: number;
  bucket_ms: number;
  recalls: number;
  complete: boolean;
  buckets: Bucket[];
  latency: { surface: string; count: number; p50_ms: number; p95_ms: number; p99_ms: number }[];
  silences: { reason: string; count: number }[];
  kinds: Record<string, number>;
  feedback: { useful: number; wrong: number; missed: number; precision: number | null };
  used: { shown: number; used: number; rate: number | null; baseline: number | null };
  cache: { placement: string; requests: number; share: number }[];
}

export interface Graph {
  nodes: { id: string; kind: string; label: string; scope: string; status: Status; importance: number; use_count: number; created_at_ms: number }[];
  edges: { source: string; target: string; type: string; weight: number }[];
  total: number;
  truncated: boolean;
}

export interface Relation {
  source_id: string;
  target_id: string;
  type: string;
  weight: number;
}

export interface ReviewEntry {
  memory: Memory;
  other: Memory | null;
  reason: string;
}

export interface ChangeEntry {
  at_ms: number;
  reason: string;
  memory: Memory;
  before: Memory | null;
}

export interface Recalled {
  block: Block;
  budget_tokens: number;
  trace: Trace;
  replayed: Replayed[];
}

export interface EngineStatus {
  version: string;
  home: string;
  preset: string;
  store: {
    memories_active: number;
    memories_total: number;
    projects: number;
    sessions: number;
    exposures: number;
    traces: number;
    handovers_pending: number;
    vectors: number;
    vectors_missing: number;
    size_bytes: number;
    schema_version: number;
  };
  embedder: string;
  tokens_exact: boolean;
  warnings: string[];
  silence: [string, number][];
  injections: number;
  recent: number;
  sessions_cached: number;
  recall_enabled: boolean;
  shadow: boolean;
}

export interface ProjectRow {
  project: { id: string; name: string; root: string; remote: string; links: string[] };
  scope: string;
  active: number;
}

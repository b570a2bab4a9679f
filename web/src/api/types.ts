/** The values of the API under the names the page uses. All come from the OpenAPI document; times are milliseconds. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Memory = Schemas["MemoryView"];
export type Trace = Schemas["TraceView"];
export type TracedCandidate = Schemas["TracedCandidate"];
export type Replayed = Schemas["Replayed"];
export type KindRow = Schemas["KindRow"];
export type Space = Schemas["SpaceRow"];
export type RecallRow = Schemas["RecallRow"];
export type Verdict = Schemas["Verdict"];
export type SessionRow = Schemas["SessionRow"];
export type SessionView = Schemas["SessionView"];
export type Learned = Schemas["LearnedView"];
export type LearnedStatement = Schemas["LearnedStatement"];
export type InjectedMemory = Schemas["InjectedMemory"];
export type Series = Schemas["Series"];
export type Graph = Schemas["Graph"];
export type ReviewEntry = Schemas["ReviewEntry"];
export type ReviewGroups = Schemas["ReviewGroups"];
export type ChangeEntry = Schemas["ChangeEntry"];
export type SettingRow = Schemas["SettingRow"];
export type LevelRow = Schemas["LevelRow"];
export type TunedLevel = Schemas["TunedLevel"];
export type SettingsView = Schemas["SettingsView"];
export type Job = Schemas["Job"];
export type ExtractorStatus = Schemas["ExtractorStatus"];
export type NamingStatus = Schemas["NamingStatus"];
export type Surface = Schemas["RecallRow"]["surface"];
export type Status = Memory["status"];

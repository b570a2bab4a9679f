import {
  IconAlertCircle, IconArrowsMinimize, IconBolt, IconHelp, IconMessage, IconPlayerPlay, IconRobot, IconServer,
} from "@tabler/icons-react";
import type { Surface } from "../api/types";

const ICONS = {
  start: IconPlayerPlay, prompt: IconMessage, action: IconBolt, failure: IconAlertCircle, compaction: IconArrowsMinimize, subagent: IconRobot,
  on_demand: IconHelp, host: IconServer,
};

export const SURFACES: Surface[] = ["start", "prompt", "action", "failure", "compaction", "subagent", "on_demand"];

export function SurfaceMark({ surface }: { surface: Surface }) {
  const Icon = ICONS[surface];
  return (
    <span className="surface">
      <Icon size={14} stroke={1.8} aria-hidden />
      {surface.replace("_", " ")}
    </span>
  );
}

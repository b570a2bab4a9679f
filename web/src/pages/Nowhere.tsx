import { Empty } from "../ui/Empty";

export function Component() {
  return <Empty level={1} title="There is no such page" text="The address leads nowhere. The navigation on the left leads everywhere else." />;
}

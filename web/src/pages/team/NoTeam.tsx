import { useLogin } from "../../api/teams";
import { Empty } from "../../ui/Empty";

/** Logged in at a server, but in no team of it. */
export function NoTeam() {
  const account = useLogin()?.account ?? "ACCOUNT";
  return <Empty title="You are in no team yet" text="An administrator of an organization on the server adds your account, on the page Team of their own home or with this command." command={`tacit team add TEAM ${account}`} />;
}

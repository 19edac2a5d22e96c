import { useState } from "preact/hooks";
import { money, tokens } from "../shared/format";
import { post } from "./host";
import { IconButton } from "./icons";
import { memo } from "./memo";
import type { Usage } from "../shared/state";

export const Header = memo(({ title, usage, hasSession }: { title: string; usage?: Usage; hasSession: boolean }) => {
  const [details, show] = useState(false);
  return (
    <header>
      <div class="header-line">
        <h1 title={title}>{title}</h1>
        {usage && usage.size > 0 && <UsageButton usage={usage} open={details} toggle={() => show(!details)} />}
        <IconButton icon="add" label="New session" onClick={() => post({ type: "session", action: "new" })} />
        <IconButton icon="history" label="Resume a session" onClick={() => post({ type: "session", action: "resume" })} />
        <IconButton icon="repo-forked" label="Fork this session" disabled={!hasSession} onClick={() => post({ type: "session", action: "fork" })} />
      </div>
      {details && usage && <UsageDetails usage={usage} />}
    </header>
  );
});

/** How full the context window is, as a ring, and the cost of the session. */
function UsageButton({ usage, open, toggle }: { usage: Usage; open: boolean; toggle: () => void }) {
  const share = Math.min(1, usage.used / usage.size);
  const cost = usage.cost ? money(usage.cost.amount, usage.cost.currency) : undefined;
  const label = `Context: ${Math.round(share * 100)} % of ${tokens(usage.size)} tokens used${cost ? `, ${cost} spent` : ""}`;
  return (
    <button type="button" class="usage" title={label} aria-label={label} aria-expanded={open} onClick={toggle}>
      <svg viewBox="0 0 16 16" aria-hidden="true" class={share > 0.8 ? "full" : ""}>
        <circle cx="8" cy="8" r="6" class="track" />
        <circle cx="8" cy="8" r="6" class="part" pathLength={100} stroke-dasharray={`${share * 100} 100`} />
      </svg>
      <span>{Math.round(share * 100)} %</span>
    </button>
  );
}

function UsageDetails({ usage: u }: { usage: Usage }) {
  const facts: [string, string][] = [["Window", `${tokens(u.used)} of ${tokens(u.size)} tokens`]];
  if (u.input !== undefined || u.output !== undefined) facts.push(["Tokens", `${tokens(u.input ?? 0)} in, ${tokens(u.output ?? 0)} out`]);
  if (u.last) facts.push(["Cached", `${Math.round((u.last.cachedRead / u.last.input) * 100)} % of the last request`]);
  if (u.requests) facts.push(["Requests", String(u.requests)]);
  if (u.cost) facts.push(["Cost", money(u.cost.amount, u.cost.currency)]);
  return (
    <dl class="usage-details">
      {facts.map(([k, v]) => (
        <div key={k}>
          <dt>{k}</dt>
          <dd>{v}</dd>
        </div>
      ))}
    </dl>
  );
}

import type { SessionConfigOption } from "../protocol";
import { post } from "./host";
import { Icon } from "./icons";
import { memo } from "./memo";

/** The session's settings that the server offers: model, approvals, thinking. */
export const Pickers = memo(({ options }: { options: readonly SessionConfigOption[] }) => (
  <>
    {options
      .filter((o) => (o.options?.length ?? 0) > 0)
      .map((o) => (
        <Picker key={o.id} option={o} />
      ))}
  </>
));

const icons: Record<string, string> = { mode: "shield", thought_level: "lightbulb" };

function Picker({ option: o }: { option: SessionConfigOption }) {
  const value = String(o.currentValue ?? "");
  const chosen = o.options!.find((c) => c.value === value);
  const title = [o.name, chosen?.description ?? o.description].filter(Boolean).join(": ");
  if (o.category === "model") {
    // The editor's list asks the providers for their models, and has a search.
    const choose = () => post({ type: "run", command: "hermes.model" });
    return (
      <button
        type="button"
        class="picker model"
        role="combobox"
        aria-haspopup="dialog"
        aria-expanded={false}
        aria-label={o.name}
        title={title}
        onClick={choose}
      >
        <span class="picker-value">{chosen?.name ?? value}</span>
      </button>
    );
  }
  return (
    <label class={`picker ${o.category ?? ""}`} title={title}>
      {icons[o.category ?? ""] && <Icon name={icons[o.category ?? ""]!} />}
      <span class="picker-value" aria-hidden="true">
        {chosen?.name ?? value}
      </span>
      <select aria-label={o.name} value={value} onChange={(e) => post({ type: "setOption", id: o.id, value: e.currentTarget.value })}>
        {o.options!.map((c) => (
          <option key={c.value} value={c.value}>
            {c.name}
          </option>
        ))}
      </select>
    </label>
  );
}

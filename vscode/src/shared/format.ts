// Numbers and names for people.

/** duration is a time span as one would say it: 0.4 s, 12 s, 3 min 05 s. */
export function duration(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  return `${Math.floor(s / 60)} min ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
}

/** tokens shortens a count: 950, 12.3k, 128k, 1.2M. */
export function tokens(n: number): string {
  if (n < 1000) return String(n);
  if (n < 1_000_000) return `${short(n / 1000)}k`;
  return `${short(n / 1_000_000)}M`;
}

function short(n: number): string {
  return n < 100 ? n.toFixed(1).replace(/\.0$/, "") : String(Math.round(n));
}

export function money(amount: number, currency: string): string {
  const digits = amount > 0 && amount < 0.1 ? 4 : 2;
  return new Intl.NumberFormat("en", { style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits }).format(amount);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/**
 * revealed writes characters that reorder text or are invisible as their code, so that the
 * user sees everything that an approval allows.
 */
export function revealed(text: string): string {
  return text.replace(
    /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g,
    (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

/** broken puts line ends in the place of the signs that the server writes for them in approval requests. */
export function broken(text: string): string {
  return text.replaceAll("⏎", "⏎\n");
}

/** oneLine shortens a text to a line. */
export function oneLine(text: string, limit: number): string {
  const line = revealed(text.trim()).replace(/\s+/g, " ");
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

// Figures, times and amounts as people say them.

/** A number as people say it: 950, 12.3k, 1.2M. */
export function short(n: number): string {
  if (n < 1000) {
    return String(n);
  }
  const [value, unit] = n < 999_950 ? [n / 1000, "k"] : [n / 1_000_000, "M"];
  return `${value >= 100 ? Math.round(value) : Math.round(value * 10) / 10}${unit}`;
}

export function money(amount: number, currency: string): string {
  const digits = amount > 0 && amount < 0.01 ? 4 : 2;
  return new Intl.NumberFormat("en", { style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits }).format(amount);
}

/** Returns an error of the program as a sentence. */
export const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Times as people say them: "5 minutes ago". */
export function ago(time: string | undefined, now = Date.now()): string {
  const seconds = time ? (now - Date.parse(time)) / 1000 : NaN;
  if (!Number.isFinite(seconds)) {
    return "";
  }
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const steps: [number, Intl.RelativeTimeFormatUnit][] = [
    [60, "second"],
    [60, "minute"],
    [24, "hour"],
    [7, "day"],
    [4.35, "week"],
    [12, "month"],
    [Infinity, "year"],
  ];
  let value = Math.max(seconds, 0);
  for (const [size, unit] of steps) {
    if (value < size) {
      return unit === "second" ? "just now" : words.format(-Math.round(value), unit);
    }
    value /= size;
  }
  return "";
}

/** "1 file", "3 files". */
export const counted = (n: number, thing: string) => (n === 1 ? `1 ${thing}` : `${n} ${thing}s`);

/** The arguments of a command line. Quotation marks keep blanks; a backslash stands for itself. */
export function argumentsOf(line: string): string[] {
  const found = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return found.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ""));
}

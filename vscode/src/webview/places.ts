// Files that answers name, such as src/a.go:12. The page does not know which files there are:
// it asks the host once for each name, and names of files become links.

import { post } from "./host";

/** The address of each name that was asked for. An empty one: there is no such file. */
const known = new Map<string, string>();
const asked: string[] = [];
let timer: number | undefined;

/** How long names are collected before the host is asked, in milliseconds. */
const collecting = 50;
/** How many names the host is asked for at once, and how many it is asked for at all. */
const atOnce = 200;
const atAll = 5_000;

/** addressOf returns the address of a file. If it is not known yet, it asks the host, and found marks the elements that show it. */
export function addressOf(file: string): string {
  const address = known.get(file);
  if (address !== undefined || known.size >= atAll) return address ?? "";
  known.set(file, "");
  asked.push(file);
  timer ??= window.setTimeout(ask, collecting);
  return "";
}

function ask(): void {
  timer = undefined;
  while (asked.length > 0) post({ type: "places", names: asked.splice(0, atOnce) });
}

/** found takes the host's answer: elements that name one of the files become links. */
export function found(addresses: Readonly<Record<string, string>>): void {
  for (const [file, address] of Object.entries(addresses)) known.set(file, address);
  for (const element of document.querySelectorAll<HTMLElement>("span[data-place]")) {
    const [file = "", line] = element.dataset["place"]!.split("#L");
    const address = known.get(file);
    if (!address) continue;
    const link = document.createElement("a");
    link.className = "place";
    link.setAttribute("href", withLine(address, Number(line)));
    link.title = titleOf(file, Number(line));
    link.append(...element.childNodes);
    element.replaceWith(link);
  }
}

export function withLine(address: string, line: number | undefined): string {
  return line ? `${address}#L${line}` : address;
}

export function titleOf(file: string, line: number | undefined): string {
  return line ? `Open ${file} at line ${line}` : `Open ${file}`;
}

/** again asks again for the names without a file: a turn may have made one. */
export function again(): void {
  for (const [file, address] of known) if (!address) known.delete(file);
  for (const element of document.querySelectorAll<HTMLElement>("span[data-place]")) addressOf(element.dataset["place"]!.split("#L")[0]!);
}

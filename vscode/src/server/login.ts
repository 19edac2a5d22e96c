/** The loopback address to which the browser returns after a login at this page; undefined: the page is none of a login. */
export function callbackOf(page: string): string | undefined {
  try {
    const back = new URL(new URL(page).searchParams.get("redirect_uri") ?? "");
    return ["127.0.0.1", "localhost"].includes(back.hostname) && back.port !== "" ? back.origin : undefined;
  } catch {
    return undefined;
  }
}

/**
 * literal is a text that VS Code draws as it is, without links and icons. An invisible
 * word joiner (U+2060) stands where [text](address) and $(icon) would begin their
 * second part.
 */
export function literal(text: string): string {
  return text.replace(/[\]$](?=\()/g, "$&\u2060");
}

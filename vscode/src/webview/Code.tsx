import { useState } from "preact/hooks";
import { revealed } from "../shared/format";
import { post } from "./host";
import { IconButton } from "./icons";
import { coloured } from "./markdown";

/** How much of a long output is put on the page before it is asked for. */
const shown = 20_000;

/** Code is a text as it is, coloured where its language is known. */
export function Code({ text, language }: { text: string; language: string }) {
  const [all, setAll] = useState(text.length <= shown);
  const part = all ? text : text.slice(0, shown);
  return (
    <div class="output">
      <pre tabIndex={0} role="group" aria-label={language || "Output"}>
        <code class="hljs" dangerouslySetInnerHTML={{ __html: coloured(revealed(part), language) }} />
      </pre>
      <IconButton class="output-copy" icon="copy" label="Copy" onClick={() => post({ type: "copy", text })} />
      {!all && (
        <button type="button" class="text" onClick={() => setAll(true)}>
          Show all ({Math.round(text.length / 1000)} thousand characters)
        </button>
      )}
    </div>
  );
}

import { useMemo } from "preact/hooks";
import { compare, type Line } from "./compare";
import { revealed } from "../shared/format";
import { post } from "./host";
import { Icon, IconButton } from "./icons";
import { lastPart } from "../shared/state";

/** Beyond this the diff editor is the better place. */
const maxLines = 400;
export function Diff({ path, oldText, newText }: { path: string; oldText?: string; newText: string }) {
  const change = useMemo(() => compare(oldText ?? "", newText), [oldText, newText]);
  let left = maxLines;
  const shown = change.hunks.map((h) => h.slice(0, Math.max(0, (left -= h.length) + h.length))).filter((h) => h.length > 0);
  const openDiff = () => post({ type: "diff", path, oldText, newText });
  return (
    <div class="diff">
      <div class="diff-head">
        <button type="button" class="text" title={path} onClick={() => post({ type: "open", path })}>
          <Icon name="file" />
          {revealed(lastPart(path))}
        </button>
        {oldText === undefined && <span class="quiet">new</span>}
        <span class="changed">
          <span class="added">+{change.added}</span> <span class="removed">−{change.removed}</span>
        </span>
        <IconButton icon="diff" label={`Compare ${lastPart(path)} in the editor`} onClick={openDiff} />
      </div>
      <div class="diff-body" tabIndex={0} role="group" aria-label={`Changes of ${lastPart(path)}`}>
        <div class="diff-lines">
          {shown.map((h, i) => (
            <Hunk key={i} lines={h} first={i === 0} />
          ))}
        </div>
      </div>
      {left < 0 && (
        <button type="button" class="text" onClick={openDiff}>
          Show the rest in the diff editor
        </button>
      )}
    </div>
  );
}

const classes = { "+": "plus", "-": "minus", " ": "same" };
const words = { "+": "added: ", "-": "removed: ", " ": "" };

function Hunk({ lines, first }: { lines: Line[]; first: boolean }) {
  return (
    <>
      {!first && (
        <div class="diff-gap" aria-hidden="true">
          ⋯
        </div>
      )}
      {lines.map((l, i) => (
        <div key={i} class={`diff-line ${classes[l.sign]}`}>
          <span class="diff-number" aria-hidden="true">
            {l.sign === "-" ? l.before : l.after}
          </span>
          <span class="diff-sign" aria-hidden="true">
            {l.sign}
          </span>
          <span class="diff-text">
            <span class="hidden">{words[l.sign]}</span>
            {revealed(l.text)}
            {"\n"}
          </span>
        </div>
      ))}
    </>
  );
}

import { useRef } from "preact/hooks";
import { Growing } from "./growing";
import { memo } from "./memo";

const Block = memo(({ html }: { html: string }) => <div class="block" dangerouslySetInnerHTML={{ __html: html }} />);

/** Markdown that may still grow. Blocks that are whole are drawn once. */
export function Blocks({ text, open }: { text: string; open: boolean }) {
  const growing = useRef<Growing | undefined>(undefined);
  growing.current ??= new Growing();
  return (
    <div class="markdown">
      {growing.current.draw(text, open).map((html, i) => (
        <Block key={i} html={html} />
      ))}
    </div>
  );
}

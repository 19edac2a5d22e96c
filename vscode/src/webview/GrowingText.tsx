import { useEffect, useRef } from "preact/hooks";

/** Growing is an input for text that is as high as its text. Enter sends the form, Shift+Enter breaks the line. */
export function Growing(p: { id: string; value: string; set: (v: string) => void; required: boolean; more?: object }) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const a = area.current;
    if (!a) return;
    a.style.height = "auto";
    a.style.height = `${a.scrollHeight + 2}px`;
  }, [p.value]);
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      area.current!.form!.requestSubmit();
    }
  };
  return (
    <textarea
      id={p.id}
      ref={area}
      rows={1}
      value={p.value}
      aria-required={p.required}
      onInput={(e) => p.set(e.currentTarget.value)}
      onKeyDown={onKeyDown}
      {...p.more}
    />
  );
}

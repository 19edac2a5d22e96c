import { useState } from "preact/hooks";

/** Pictures shows pictures as thumbnails. A click shows one in full width, and another one as a thumbnail again. */
export function Pictures({ sources, label }: { sources: readonly string[]; label: string }) {
  const [large, enlarge] = useState<number>();
  if (sources.length === 0) return null;
  return (
    <div class="images">
      {sources.map((src, i) => (
        <button
          key={i}
          type="button"
          class={`picture${large === i ? " large" : ""}`}
          aria-expanded={large === i}
          title={large === i ? "Show smaller" : "Show larger"}
          onClick={() => enlarge(large === i ? undefined : i)}
        >
          <img src={src} alt={`${label} ${i + 1}`} />
        </button>
      ))}
    </div>
  );
}

// The page of the chat view. It keeps one state, changes it by the reducer alone, and
// draws at most once a frame.

import "@vscode/codicons/dist/codicon.css";
import "./style/page.css";
import "./style/log.css";
import "./style/code.css";
import "./style/footer.css";
import { render } from "preact";
import { App } from "./App";
import { listen, post } from "./host";
import * as places from "./places";
import type { ToPage } from "../shared/messages";
import { reduce } from "../shared/reducer";
import { initial, type State } from "../shared/state";

let state: State = initial;
let drawing = false;
const listeners = new Set<(m: ToPage) => void>();

function hear(listener: (m: ToPage) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function draw(): void {
  drawing = false;
  document.body.classList.toggle("wrap", state.look.wrap);
  document.body.classList.toggle("compact", state.look.compact);
  render(<App state={state} hear={hear} />, document.getElementById("root")!);
}

/** A page that is not visible gets no frames. It draws when it is visible again. */
function drawSoon(): void {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(draw);
}

listen((messages) => {
  const before = state;
  for (const m of messages) {
    state = reduce(state, m);
    for (const l of listeners) l(m);
    if (m.type === "places") places.found(m.addresses);
    if (m.type === "turn" && !m.running) places.again();
  }
  if (state !== before) drawSoon();
});

draw();
post({ type: "ready" });

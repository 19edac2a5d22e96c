// Pictures of the page in each theme, to be looked at:
//   node src/webview/test/script.mjs screenshots [FOLDER [NAME]]
// NAME is a part of a picture's name, such as tools-dark-320.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { dist, Harness, themeNames, type View } from "./harness";
import { stream } from "./streams";
import { now, scenes } from "./scenes";

const folder = process.argv[3] ?? join(dist, "screenshots");
const only = process.argv[4];
mkdirSync(folder, { recursive: true });
const harness = await Harness.start(dist, 2);
for (const theme of themeNames) {
  for (const width of [200, 320, 700]) {
    for (const [name, scene] of Object.entries(scenes)) {
      if (only && !`${name}-${theme}-${width}`.includes(only)) continue;
      const view: View = await harness.open({ theme, width, height: 900 });
      await view.tell(...now(scene.messages(stream)));
      await scene.then?.(view);
      await view.page.screenshot({ path: join(folder, `${name}-${theme}-${width}.png`) });
      if (view.problems.length > 0) console.log(name, theme, width, view.problems);
      await harness.close(view);
    }
  }
}
await harness.stop();

// Pictures of the page in each theme, to be looked at:
//   node src/webview/test/screenshots.mjs FOLDER
import { join } from "node:path";
import { dist, Harness, themeNames, type View } from "./harness";
import { stream } from "./streams";
import { now, scenes } from "./scenes";

const folder = process.argv[2]!;
const only = process.argv[3];
const harness = await Harness.start(dist);
for (const theme of themeNames) {
  for (const width of [320, 700]) {
    for (const [name, scene] of Object.entries(scenes)) {
      if (only && !`${name}-${theme}-${width}`.includes(only)) continue;
      const view: View = await harness.open({ theme, width, height: 900 });
      await view.tell(...now(scene.messages(stream)));
      await scene.then?.(view);
      await view.page.screenshot({ path: join(folder, `${name}-${theme}-${width}.png`) });
      if (view.problems.length > 0) console.log(name, theme, width, view.problems);
      await view.page.close();
    }
  }
}
await harness.stop();

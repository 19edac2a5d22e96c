import * as fs from "node:fs";
import * as path from "node:path";

import { Rest } from "./changes";

/** Rests keeps, in a file of the workspace's storage, what the next window has to know of the changes that wait. */
export class Rests {
  private written = "";
  private writing: Promise<void> = Promise.resolve();

  /** Without a folder nothing is kept. */
  constructor(
    private readonly folder: string | undefined,
    private readonly failed: (error: unknown) => void,
  ) {}

  private get file(): string | undefined {
    return this.folder && path.join(this.folder, "accepted.json");
  }

  /** Returns what the earlier window has kept. */
  load(): Rest[] {
    try {
      this.written = this.file ? fs.readFileSync(this.file, "utf8") : "";
      const read: unknown = JSON.parse(this.written || "[]");
      return Array.isArray(read) ? read.filter(isRest) : [];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
        this.failed(error);
      }
      return [];
    }
  }

  /** Keeps these instead of the earlier ones. A failure is logged: then the next window lists the files as a whole. */
  keep(rests: readonly Rest[]): Promise<void> {
    const text = rests.length > 0 ? JSON.stringify(rests) : "";
    if (text !== this.written && this.file) {
      this.written = text;
      this.writing = this.writing.then(() => write(this.file!, text)).catch((error: unknown) => this.failed(error));
    }
    return this.writing;
  }
}

/** Writes a file so that a window that is closed meanwhile leaves the earlier one. */
async function write(file: string, text: string): Promise<void> {
  await fs.promises.mkdir(path.dirname(file), { recursive: true });
  await fs.promises.writeFile(`${file}.new`, text, { mode: 0o600 });
  await fs.promises.rename(`${file}.new`, file);
}

function isRest(r: Partial<Rest> | null): r is Rest {
  const texts = [r?.session, r?.checkpoint, r?.path, r?.before ?? "", r?.after ?? ""];
  return texts.every((text) => typeof text === "string");
}

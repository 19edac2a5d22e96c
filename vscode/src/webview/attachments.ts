// Files and pictures that are dropped or pasted.

import type { Attachment } from "../shared/messages";

const maxImage = 25_000_000; // bytes; a message has at most 32 MB, and base64 makes a picture larger by a third
const maxText = 512 << 10;

/** The name that Chromium gives to a picture of the clipboard. */
const clipboardName = "image.png";

/** fromFiles reads files of the browser. If one cannot be attached, it returns a message. */
export async function fromFiles(files: readonly File[]): Promise<{ attachments: Attachment[]; problems: string[] }> {
  const attachments: Attachment[] = [];
  const problems: string[] = [];
  for (const file of files) {
    const one = await fromFile(file);
    if (typeof one === "string") problems.push(one);
    else attachments.push(one);
  }
  return { attachments, problems };
}

async function fromFile(file: File): Promise<Attachment | string> {
  const name = file.name || "picture";
  if (/^image\/(png|jpeg|gif|webp|(x-ms-)?bmp|tiff)$/.test(file.type)) {
    if (file.size > maxImage) return `${name} is larger than 25 MB`;
    const uri = name === clipboardName ? {} : { uri: address(name) };
    return { kind: "image", name, ...uri, mimeType: file.type, data: await base64(file) };
  }
  const picture = /^image\/(?!svg)/.test(file.type) || /\.(heic|heif|avif)$/i.test(name); // Chromium does not know the type of HEIC
  if (picture) return `${name} is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are`;
  if (file.size > maxText) return `${name} is larger than 512 KB; mention it with @ instead`;
  const text = await file.text();
  if (text.includes("\u0000")) return `${name} is not a text`;
  return { kind: "text", name, uri: address(name), text };
}

function address(name: string): string {
  return `attachment:///${encodeURIComponent(name)}`;
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve((reader.result as string).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(new Error(`reading ${file.name}: ${reader.error?.message}`));
    reader.readAsDataURL(file);
  });
}

/** urisOf are the files that were dragged from the editor. */
export function urisOf(data: DataTransfer): string[] {
  const list = data.getData("application/vnd.code.uri-list") || data.getData("text/uri-list");
  return list.split(/\r?\n/).filter((line) => /^[a-z][\w+.-]*:/i.test(line) && !/^https?:/i.test(line));
}

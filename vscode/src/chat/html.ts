/** PageFiles are the addresses of the page's own files. The page can load no others. */
export interface PageFiles {
  script: string;
  style: string;
  /** The origin of our own files, as Content-Security-Policy names it. */
  source: string;
  nonce: string;
}

/** html is the document of the view: our script, our style, our font. No address outside is reachable from it. */
export function html(f: PageFiles): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${f.nonce}'`,
    `style-src ${f.source}`,
    `font-src ${f.source}`,
    `img-src ${f.source} data:`,
    "form-action 'none'",
    "base-uri 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="UTF-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Hermes</title>
  <link rel="stylesheet" href="${f.style}">
</head>
<body>
  <div id="root"></div>
  <script nonce="${f.nonce}" src="${f.script}"></script>
</body>
</html>`;
}

// ESLint for the sources of the VS Code extension; see lint.sh.
import js from "@eslint/js";
import path from "node:path";
import ts from "typescript-eslint";

const vscode = path.resolve(import.meta.dirname, "../../../vscode");
const off = (...names) => Object.fromEntries(names.map((n) => [`@typescript-eslint/${n}`, "off"]));

export default ts.config(
  js.configs.recommended,
  ...ts.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { project: path.join(vscode, "tsconfig.json") } },
    // The compiler checks types, and unsafe values come from JSON only.
    rules: { "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }], ...off("no-unnecessary-type-assertion", "require-await", "no-unsafe-return", "no-unsafe-member-access", "no-unsafe-argument", "await-thenable", "no-base-to-string") },
  },
  { files: ["**/test/**"], rules: off("no-floating-promises") }, // test() of node:test returns one
  { ignores: ["**/*.mjs", "**/protocol.ts"] },
);

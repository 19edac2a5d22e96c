import * as vscode from "vscode";

import { put, restricted } from "./options";
import { Section } from "./protocol";

/** The extension's own settings; all others are keys of config.yaml. */
const own = new Set(["path", "progress", "codeLens", "saveEdits"]);

/** A setting that is a key of config.yaml. */
interface Setting {
  readonly key: string; // without the section: model.default
  readonly harmless: boolean; // a repository may set it
}

/** The manifest is the one list of settings. Their scopes say which of them a repository may set. */
export function serverSettings(context: vscode.ExtensionContext): Setting[] {
  const sections = [context.extension.packageJSON.contributes.configuration].flat() as { properties: Record<string, { scope?: string }> }[];
  return sections
    .flatMap((s) => Object.entries(s.properties))
    .map(([name, schema]) => ({ key: name.slice(Section.length + 1), harmless: schema.scope !== "application" }))
    .filter((s) => !own.has(s.key));
}

/**
 * The user's settings, for initialize. They take precedence over config.yaml. In a workspace
 * that is not trusted, nothing is written and nothing runs.
 */
export function initializationOptions(context: vscode.ExtensionContext): Record<string, unknown> {
  const config = vscode.workspace.getConfiguration(Section);
  const options: Record<string, unknown> = {};
  for (const { key } of serverSettings(context)) {
    const value = config.inspect(key)?.globalValue;
    if (value !== undefined) {
      put(options, key, value);
    }
  }
  return vscode.workspace.isTrusted ? options : restricted(options);
}

/** The section hermes: the settings of the workspace, without those that a workspace may not set. */
export function sectionOf(context: vscode.ExtensionContext): Record<string, unknown> {
  const config = vscode.workspace.getConfiguration(Section);
  const section: Record<string, unknown> = {};
  for (const { key, harmless } of serverSettings(context)) {
    const found = config.inspect(key);
    const value = found?.workspaceFolderValue ?? found?.workspaceValue;
    if (harmless && value !== undefined) {
      put(section, key, value);
    }
  }
  return section;
}

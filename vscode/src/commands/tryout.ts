import { execFile } from "node:child_process";
import * as vscode from "vscode";

import { serverEnvironment, serverPath } from "../server/launch";
import * as show from "../show";

/** An endpoint that is not configured yet: a provider with a key, and an address if it is not the usual one. */
export interface Candidate {
  provider: string;
  address?: string;
  key?: { variable: string; value: string };
}

/** The models that an endpoint lists, or why it does not. unlisted: it answers, but has no list. */
export interface Listed {
  ids: string[];
  error?: string;
  unlisted?: boolean;
}

export async function listModels(context: vscode.ExtensionContext, at: Candidate): Promise<Listed> {
  const found = await ask<{ models: { id: string }[]; errors: { error: string; status?: number }[] }>(context, at, ["list", "--provider", at.provider]);
  if (typeof found === "string") {
    return { ids: [], error: found };
  }
  const failed = found.errors[0];
  return { ids: found.models.map((m) => m.id), error: failed?.error, unlisted: failed?.status === 404 || failed?.status === 405 };
}

/** Sends two short requests to a model. It returns why that failed; undefined: the model can be used. */
export async function testModel(context: vscode.ExtensionContext, at: Candidate, model: string): Promise<string | undefined> {
  const found = await ask<{ ok: boolean; checks: { error?: string } }>(context, at, ["test", `${at.provider}/${model}`]);
  if (typeof found === "string") {
    return found;
  }
  return found.ok ? undefined : (found.checks.error ?? "The test failed.");
}

/** Runs "hermes-ls model" and returns its JSON, or its error as a text. */
async function ask<T>(context: vscode.ExtensionContext, at: Candidate, args: string[]): Promise<T | string> {
  const env = await serverEnvironment(context);
  if (at.key) {
    env[at.key.variable] = at.key.value;
  }
  const where = at.address ? ["--base-url", at.address] : [];
  const options = { location: vscode.ProgressLocation.Notification, title: `Asking ${at.address ?? at.provider}…`, cancellable: true };
  return show.progress(options, (_, token) => run<T>(serverPath(context), ["model", ...args, ...where, "--json"], env, token));
}

function run<T>(program: string, args: string[], env: NodeJS.ProcessEnv, token: vscode.CancellationToken): Promise<T | string> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { env }, (error, stdout, stderr) => {
      canceled.dispose();
      try {
        resolve(JSON.parse(stdout) as T);
      } catch {
        resolve(token.isCancellationRequested ? "Canceled." : stderr.trim() || (error?.message ?? `${program} did not answer.`));
      }
    });
    const canceled = token.onCancellationRequested(() => child.kill());
  });
}

#!/usr/bin/env node
// Starts the program of this platform and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@hermes-ls/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/hermes-ls${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`hermes-ls: the package ${name} is missing. Install again without --omit=optional; other systems: {{"https://github.com/hermes-ls/hermes-ls"}}`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`hermes-ls: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));

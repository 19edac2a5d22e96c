#!/usr/bin/env bash
# Checks the editor plugins: ESLint and Prettier for TypeScript, StyLua and luacheck for Lua. It installs
# them from npm into .cache/lint; luacheck is Debian's, and root installs it.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$PWD/.cache/lint
if ! cmp -s e2e/setup/lint/package-lock.json "$tools/.installed"; then
	echo "lint: installing ESLint, Prettier and StyLua from npm" >&2
	mkdir -p "$tools"
	cp e2e/setup/lint/package*.json "$tools"
	(cd "$tools" && npm ci --ignore-scripts --no-audit --no-fund --silent)
	cp e2e/setup/lint/package-lock.json "$tools/.installed"
fi
if ! cmp -s vscode/package-lock.json vscode/node_modules/.installed; then
	(cd vscode && npm ci --ignore-scripts --no-audit --no-fund --silent)
	cp vscode/package-lock.json vscode/node_modules/.installed
fi
cp e2e/setup/lint/eslint.config.mjs "$tools/eslint.config.mjs"
sed -i "s|path.resolve(import.meta.dirname, .*)|\"$PWD/vscode\"|" "$tools/eslint.config.mjs" # it imports from its own folder
(cd vscode && "$tools/node_modules/.bin/eslint" -c "$tools/eslint.config.mjs" src && "$tools/node_modules/.bin/prettier" --check --log-level warn src)

lua=(nvim lua plugin e2e/neovim)
"$tools/node_modules/.bin/stylua" --check -g '**/*.lua' -g '!**/protocol.lua' "${lua[@]}"
if ! command -v luacheck >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	echo "lint: installing lua-check" >&2
	apt-get -qq update || true # the lists that are there may suffice
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends lua-check >/dev/null || true # said below
fi
if command -v luacheck >/dev/null; then
	luacheck --quiet "${lua[@]}"
elif [ -n "${HERMES_LS_TEST_OMITTED:-}" ]; then # make test lists it at the end, and fails
	printf 'luacheck\tthe package lua-check\n' >>"$HERMES_LS_TEST_OMITTED"
else
	echo "lint: luacheck is missing, and the Lua code is formatted, but not checked: install the package lua-check" >&2
	exit 1
fi

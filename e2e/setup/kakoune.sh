#!/usr/bin/env bash
# Gets what the test of Kakoune drives: the editor from Debian, and its LSP client, which
# is a package of crates.io only and is built here by cargo 1.75 or newer, in about three
# minutes of processor time. It is not part of hosts.sh because of that.
set -euo pipefail
cd "$(dirname "$0")/../.."
hosts=.cache/hosts
e2e/setup/debian-folder.sh trixie kakoune usr/bin/kak "$hosts/kakoune"
[ -x "$hosts/kak-lsp/bin/kak-lsp" ] && exit 0
if ! cargo --version >/dev/null 2>&1; then
	echo "setup: please install Rust's cargo, 1.75 or newer: kak-lsp is built with it" >&2
	exit 1
fi
echo "setup: building kak-lsp into $hosts/kak-lsp" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CARGO_PROFILE_DEV_DEBUG=0 cargo install --debug --locked --quiet --target-dir "$work" --root "$hosts/kak-lsp" kak-lsp@22.0.0

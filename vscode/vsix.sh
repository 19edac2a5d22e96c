#!/usr/bin/env bash
# Packs the extension, with the program of a platform in each package:
#   vsix.sh VERSION FOLDER LDFLAGS [GOOS/GOARCH...]
# Without a platform it is this one, and the file is FOLDER/hermes-ls-VERSION.vsix;
# else FOLDER/hermes-ls-VERSION-TARGET.vsix, with the editor's name of the platform.
set -euo pipefail
cd "$(dirname "$0")"
version=$1 folder=$2 ldflags=$3
shift 3

if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --ignore-scripts --no-audit --no-fund --silent
	cp package-lock.json node_modules/.installed
fi
npm run --silent check
rm -rf dist
npm run --silent build
if [ $# -eq 0 ]; then
	./package.sh "$version" "$folder/hermes-ls-$version.vsix" "$ldflags" "$(go env GOHOSTOS)/$(go env GOHOSTARCH)"
fi
for platform in "$@"; do
	./package.sh "$version" "$folder" "$ldflags" "$platform"
done

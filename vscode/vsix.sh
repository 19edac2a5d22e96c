#!/usr/bin/env bash
# Builds the extension with this platform's program in it: vsix.sh VERSION OUT LDFLAGS
# Another platform: GOOS=windows GOARCH=amd64 vsix.sh …
set -euo pipefail
cd "$(dirname "$0")"
version=$1 out=$2 ldflags=$3

os=$(go env GOOS) arch=$(go env GOARCH) suffix=
case $os in windows) os=win32 suffix=.exe ;; esac
case $arch in amd64) arch=x64 ;; esac

if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --ignore-scripts --no-audit --no-fund --silent
	cp package-lock.json node_modules/.installed
fi
npm run --silent check
rm -rf dist bin
npm run --silent build
CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" -o "bin/hermes-ls$suffix" ../cmd/hermes-ls
mkdir -p "$(dirname "$out")"
node node_modules/@vscode/vsce/vsce package "$version" --no-update-package-json --no-git-tag-version \
	--target "$os-$arch" --no-dependencies --allow-missing-repository --skip-license -o "$out"

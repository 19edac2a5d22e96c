#!/usr/bin/env bash
# Packs what esbuild has built into dist/ with a platform's program:
#   package.sh VERSION FILE|FOLDER LDFLAGS GOOS/GOARCH
set -euo pipefail
cd "$(dirname "$0")"
version=$1 out=$2 ldflags=$3 platform=$4
export GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0

os=$GOOS arch=$GOARCH suffix=
case $os in windows) os=win32 suffix=.exe ;; esac
case $arch in amd64) arch=x64 ;; arm) arch=armhf ;; esac
case $out in *.vsix) ;; *) out=$out/hermes-ls-$version-$os-$arch.vsix ;; esac
mkdir -p "$(dirname "$out")"
out=$(realpath "$out")

package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
cp -r package.json README.md .vscodeignore dist icons walkthrough ../CHANGELOG.md ../LICENSE ../NOTICE "$package"
go build -trimpath -ldflags "$ldflags" -o "$package/bin/hermes-ls$suffix" ../cmd/hermes-ls
vsce=$PWD/node_modules/@vscode/vsce/vsce
(cd "$package" && node "$vsce" package "$version" --no-update-package-json --no-git-tag-version \
	--target "$os-$arch" --no-dependencies -o "$out")

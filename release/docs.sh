#!/usr/bin/env bash
# Makes the site of the documentation in dist/docs. The first page is the README.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.cache/docs/venv pages=.cache/docs/pages
if ! cmp -s release/docs/requirements.txt "$venv/.installed"; then
	python3 -m venv --clear "$venv"
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r release/docs/requirements.txt
	cp release/docs/requirements.txt "$venv/.installed"
fi
rm -rf "$pages"
mkdir -p "$pages/server/testdata"
cp -r docs ./*.md LICENSE "$pages"
cp server/testdata/README.md "$pages/server/testdata"
mv "$pages/README.md" "$pages/index.md"
sed -i 's|(\.\./README\.md|(../index.md|g' "$pages"/docs/*.md
DISABLE_MKDOCS_2_WARNING=true "$venv/bin/mkdocs" build --quiet --clean
echo "dist/docs/index.html"

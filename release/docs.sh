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
# The theme would load these two from a public host.
script() { # PACKAGE VERSION FILE
	[ -f ".cache/docs/$1-$2.js" ] && return
	(cd .cache/docs && npm pack --silent "$1@$2" >/dev/null)
	tar -xzOf ".cache/docs/$1-$2.tgz" "package/$3" >".cache/docs/$1.new"
	mv ".cache/docs/$1.new" ".cache/docs/$1-$2.js"
}
script mermaid 11.6.0 dist/mermaid.min.js
script iframe-worker 1.0.4 shim/index.js
rm -rf "$pages"
mkdir -p "$pages/server/testdata" "$pages/release"
cp -r docs ./*.md LICENSE "$pages"
cp .cache/docs/mermaid-11.6.0.js "$pages/mermaid.min.js"
cp .cache/docs/iframe-worker-1.0.4.js "$pages/iframe-worker.js"
cp server/testdata/README.md "$pages/server/testdata"
cp release/README.md "$pages/release"
mv "$pages/README.md" "$pages/index.md"
sed -i 's|(\.\./README\.md|(../index.md|g' "$pages"/docs/*.md
DISABLE_MKDOCS_2_WARNING=true "$venv/bin/mkdocs" build --quiet --clean
sed -i 's|https://unpkg.com/mermaid@11/dist/mermaid.min.js|mermaid.min.js|' dist/docs/assets/javascripts/bundle.*.js # never loaded: it is there already
find dist/docs -name '*.html' | while read -r page; do
	up=$(dirname "${page#dist/docs/}" | sed 's|^\.$||; s|[^/][^/]*|..|g; s|$|/|; s|^/$||')
	sed -i "s|https://unpkg.com/iframe-worker/shim|${up}iframe-worker.js|" "$page"
done
echo "dist/docs/index.html"

#!/usr/bin/env bash
# Unpacks a Debian package of another suite, with its dependencies, into a folder
# of its own; the system's packages stay as they are.
#
#   debian-folder.sh SUITE PACKAGE PROGRAM DEST
#
# Afterwards DEST/run starts PROGRAM (such as usr/bin/nvim) with its own libc.
set -euo pipefail
suite=$1 package=$2 program=$3 dest=$4
[ -x "$dest/run" ] && exit 0
rm -rf "$dest" # it was interrupted: run is made last
mkdir -p "$dest"
dest=$(cd "$dest" && pwd)

site=$(apt-get indextargets --format '$(SITE)' | grep -v security | head -n 1)
[ -n "$site" ] || { echo "no Debian mirror is configured: run apt-get update first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,cache/archives/partial}
: > "$work/status"
echo "deb $site $suite main" > "$work/sources.list"
cat > "$work/apt.conf" <<CONF
Dir::State "$work/state";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Debug::NoLocking "true";
CONF
export APT_CONFIG="$work/apt.conf"
apt-get -qq update
apt-get -qq -y install --download-only "$package"
for deb in "$work"/cache/archives/*.deb; do
	dpkg -x "$deb" "$dest"
done

lib="$dest/usr/lib/$(uname -m)-linux-gnu"
loader=$(find "$dest" -name 'ld-linux-*.so.*' -not -type d | head -n 1)
patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$lib:$lib/.." "$dest/$program"
# Apptainer has a second program, and looks for its files around where it lies.
starter="$lib/apptainer/bin/starter"
if [ -e "$starter" ]; then
	patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$lib:$lib/.." "$starter"
	mkdir -p "$dest/var/lib/apptainer/mnt/session"
	ln -sfn ../etc "$dest/usr/etc"
	ln -sfn ../../var "$dest/usr/lib/var"
fi
# Where the program looks for its own files, for those that have no way to find them.
places=""
[ -d "$dest/usr/share/nvim" ] && places="export VIM=\"$dest/usr/share/nvim\" VIMRUNTIME=\"$dest/usr/share/nvim/runtime\""
[ -d "$dest/usr/lib/hx" ] && places="export HELIX_RUNTIME=\"$dest/usr/lib/hx/runtime\""
cat > "$dest/run.tmp" <<RUN
#!/bin/sh
$places
exec "$dest/$program" "\$@"
RUN
chmod +x "$dest/run.tmp"
mv "$dest/run.tmp" "$dest/run"

#!/usr/bin/env bash
# Runs a command as an ordinary user. Root needs it for tests: root may do things that users
# may not, so a test that passes as root says little about them.
#
#   go test -exec e2e/setup/as-user.sh ./...
#
# For an ordinary user it only runs the command. For root it makes a mount namespace in
# which a user "tester" exists, has an empty home, and sees this checkout at a path that
# every user can reach. Nothing of it stays on the system.
set -euo pipefail
[ "$(id -u)" != 0 ] && exec "$@"

here=$(cd "$(dirname "$0")/../.." && pwd -P)
uid=7327

if [ "${1:-}" != --inside ]; then
	for folder in "$here"/e2e/{neovim,emacs,helix,vim,vscode}; do # where tests keep their pictures
		mkdir -p "$folder/artefacts"
		chmod -R a+rwX "$folder/artefacts"
	done
	exec unshare --mount --propagation private "$0" --inside "$PWD" "$@"
fi

folder=$2
shift 2
mount -t tmpfs -o mode=755 tester /mnt
mkdir /mnt/src /mnt/run
mount --rbind "$here" /mnt/src
case $1 in
/*) # a test's program lies in a folder of root's
	mount --bind "$(dirname "$1")" /mnt/run
	set -- "/mnt/run/$(basename "$1")" "${@:2}"
	;;
esac
mount -t tmpfs -o mode=755 tester /home
install -d -o $uid -g $uid /home/tester
# Programs in .cache/hosts name their own path, so it has to lead to them, too.
part=
while IFS= read -r -d / name; do
	part=$part${name:+/$name}
	if [ -n "$part" ] && [ $(($(stat -c %a "$part" 2>/dev/null || echo 1) % 2)) = 0 ]; then
		mount -t tmpfs -o mode=755 tester "$part"
		break
	fi
done <<<"$here/"
if [ ! -e "$here/go.mod" ]; then
	mkdir -p "$here"
	mount --rbind /mnt/src "$here"
fi
{ cat /etc/passwd; echo "tester:x:$uid:$uid::/home/tester:/bin/bash"; } >/mnt/passwd
{ cat /etc/group; echo "tester:x:$uid:"; } >/mnt/group
mount --bind /mnt/passwd /etc/passwd
mount --bind /mnt/group /etc/group
case $folder in "$here"*) folder=/mnt/src${folder#"$here"} ;; esac
cd "$folder"
given=()
# HERMES_LS_TEST_AGAIN tells tests that root runs them, too; see internal/proc/proctest.
if [ -n "${HERMES_LS_TEST_BASE:-}" ]; then # make test has prepared places that every user can write; see internal/testneed
	given=(TMPDIR="${TMPDIR:-/tmp}" HERMES_LS_TEST_BASE="$HERMES_LS_TEST_BASE" HERMES_LS_TEST_OMITTED="${HERMES_LS_TEST_OMITTED:-}")
fi
exec env -i PATH="$PATH" LANG="${LANG:-C.UTF-8}" TERM="${TERM:-dumb}" CI="${CI:-}" \
	HOME=/home/tester USER=tester LOGNAME=tester SHELL=/bin/bash HERMES_LS_TEST_AGAIN=1 "${given[@]}" \
	setpriv --reuid=$uid --regid=$uid --clear-groups "$@"

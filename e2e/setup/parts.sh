# Functions of hosts.sh and projects.sh, which source this file. Each part is got by itself: if one cannot be had, it
# goes on the list of missing ones, and the others continue.

# A script that another one has started adds to the list of that one.
if [ -n "${HERMES_SETUP_WORK:-}" ]; then
	work=$HERMES_SETUP_WORK own=
else
	work=$(mktemp -d) own=1
	export HERMES_SETUP_WORK=$work TMPDIR=$work
fi
chains=()

# stop ends everything that runs beside this script, and removes its temporary files.
stop() {
	local tries
	signal TERM || true
	for tries in {1..30}; do
		signal 0 || break
		sleep 0.1
	done
	signal KILL || true
	[ -z "$own" ] || rm -rf "$work"
}
# signal NAME sends a signal to all that runs beside this script. It returns 1 if nothing does.
signal() {
	local chain found=1
	for chain in "${chains[@]}"; do
		! kill -s "$1" -- "-$chain" 2>/dev/null || found=0
	done
	return $found
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { echo "setup: $*" >&2; }

# lacks PACKAGE USE notes that a package is missing, and its use.
lacks() { echo "$1 ($2)" >>"$work/missing"; }

# get PACKAGE USE COMMAND… runs a command that installs a package. It shows the command's output if that fails.
get() {
	local name=$1 use=$2 began=$SECONDS log
	shift 2
	say "installing $name"
	log=$(mktemp "$work/log-XXXXXX")
	("$@") >"$log" 2>&1 </dev/null &
	if wait $!; then
		say "$name is installed ($((SECONDS - began)) s)"
	else
		say "$name could not be installed:
$(tail -n 20 "$log" | sed 's/^/    /')"
		lacks "$name" "$use"
	fi
}

# beside COMMAND… runs a command beside those that follow. It has a process group of its own, which stop ends.
beside() {
	set -m
	"$@" </dev/null &
	chains+=("$!")
	set +m
}

# finish waits for all commands that run beside, and exits. If a part is missing, the exit status is 1.
finish() {
	local chain
	for chain in "${chains[@]}"; do
		wait "$chain" || lacks "a part of this script" "it ended with an error, see above"
	done
	chains=()
	[ -n "$own" ] || exit 0
	[ -s "$work/missing" ] || exit 0
	sort -u "$work/missing" | sed 's/^/missing: /' >&2
	exit 1
}

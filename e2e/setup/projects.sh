#!/usr/bin/env bash
# Gets the sources of five public projects, with their tests, into .cache/hosts/projects:
# one each in Go, Rust, JavaScript, Python and Java. They come from the registries of
# their languages. Projects that are there already are left alone. If one cannot be had, the others are; then the exit
# status is 1.
set -euo pipefail
cd "$(dirname "$0")/../.."
projects=$PWD/.cache/hosts/projects
mkdir -p "$projects"
. e2e/setup/parts.sh

# Tools such as rustup and pyenv keep their programs in the home of the account.
if ! cargo --version >/dev/null 2>&1; then
	home=$(getent passwd "$(id -u)" | cut -d: -f6) || home=
	export HOME="${home:-$HOME}"
fi

# project NAME PROGRAMS FUNCTION makes a project in an empty directory, and puts it in place when it is whole.
project() {
	local program
	[ ! -d "$projects/$1" ] || return 0
	for program in $2; do
		command -v "$program" >/dev/null || {
			lacks "$program" "the public project $1"
			return 0
		}
	done
	get "the public project $1" "a test of the sandbox" make_project "$1" "$3"
}
make_project() { # NAME FUNCTION
	local temp
	rm -rf "$projects/.new-$1"
	temp=$projects/.new-$1
	mkdir "$temp"
	(cd "$temp" && "$2" "$1")
	chmod -R u+w "$temp"
	mv "$temp" "$projects/$1"
}

go_module() {
	local dir
	dir=$(go mod download -json github.com/hashicorp/go-multierror@v1.1.1 | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
	cp -R "$dir/." .
}

rust_crate() {
	mkdir fetch
	(
		cd fetch
		mkdir src && touch src/lib.rs
		printf '[package]\nname = "fetch"\nversion = "0.1.0"\n[dependencies]\nsemver = "=1.0.26"\n' >Cargo.toml
		cargo vendor --quiet >/dev/null
	)
	cp -R fetch/vendor/semver/. .
	rm -rf fetch .cargo-checksum.json
}

npm_package() {
	tar -xzf "$(npm pack --silent fastq@1.19.1)" --strip-components 1
	rm -f -- *.tgz
}

python_sdist() {
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary markupsafe markupsafe==3.0.2
	tar -xzf markupsafe-3.0.2.tar.gz --strip-components 1
	rm markupsafe-3.0.2.tar.gz
}

java_artifact() {
	local kind
	for kind in pom jar:sources jar:test-sources; do
		mvn -q -B dependency:copy -Dartifact="commons-cli:commons-cli:1.9.0:$kind" -DoutputDirectory=.
	done
	mkdir -p src/main/java src/test/java
	(cd src/main/java && jar xf ../../../commons-cli-1.9.0-sources.jar && rm -rf META-INF)
	(cd src/test/java && jar xf ../../../commons-cli-1.9.0-test-sources.jar && rm -rf META-INF)
	mv commons-cli-1.9.0.pom pom.xml
	# The archive of the tests lacks the one file that they read.
	mkdir -p src/test/resources/org/apache/commons/cli
	touch src/test/resources/org/apache/commons/cli/existing-readable.file
	rm -f -- *.jar
}

project go-multierror go go_module
project rust-semver cargo rust_crate
project node-fastq npm npm_package
project python-markupsafe python3 python_sdist
project java-commons-cli "mvn jar" java_artifact
finish

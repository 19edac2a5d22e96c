# Two commands for a fresh machine: `make demo` shows the main job, `make test`
# passes the tests. Both do their own set-up.

VERSION := 0.1.0
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.linkedVersion=$(VERSION) -X main.commit=$(COMMIT)
GO      := CGO_ENABLED=0 go
comma   := ,

# Tools of the tests, from the module proxy.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.7
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

.PHONY: announce build demo test lint static cross race user e2e kakoune hosts vsix vsix-all bench soak fuzz notices vulnerabilities release docs models clean

build: bin/hermes-ls

bin/hermes-ls: FORCE
	$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/hermes-ls ./cmd/hermes-ls
FORCE:

demo: build
	@bin/hermes-ls demo

# The tests of lint run with the others. go vet ran for all packages, so go test does not repeat it.
# Apart from the race detector, everything has the flags of the build: it is compiled once.
test: announce static cross race user e2e

TEST := $(GO) test -vet=off -trimpath

announce:
	@echo "make test: lint, all tests with the race detector, then real editors and clients; 40 to 60 minutes on two cores."
	@echo "It gets Go modules, npm and PyPI packages and, as root on Debian, programs by apt-get (editors, Chromium, ripgrep, sshd, podman, shells);"
	@echo "otherwise it lists missing programs and stops. Everything else stays in .cache of this folder."

lint: static
	$(TEST) .
	$(TEST) -run 'Page|Reference|CommandTable|Documented|Descriptions|Help|Snippets|Subcommands|Palette' ./server/app ./cmd/... ./vscode ./nvim ./extensions/hooks ./extensions/skills

static:
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet -trimpath -tags e2e,kakoune ./...
	GOFLAGS=-trimpath $(GO) run $(STATICCHECK) -tags e2e,kakoune ./...
	GOFLAGS=-trimpath $(GO) run $(ACTIONLINT) -shellcheck= -pyflakes=
	e2e/setup/lint.sh

cross:
	GOOS=darwin GOARCH=arm64 $(GO) build -trimpath -o /dev/null ./cmd/hermes-ls
	GOOS=windows GOARCH=amd64 $(GO) build -trimpath -o /dev/null ./cmd/hermes-ls
	GOOS=windows GOARCH=amd64 $(GO) vet -trimpath ./...

# By default, each program sleeps a second under the race detector before it ends.
race: hosts
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 go test -vet=off -race -timeout 20m ./...
	$(TEST) -run TestMemoryLimits ./internal/proc

# Root may do what users may not. So if root runs the tests, the tests of processes and
# files run again as an ordinary user, without the race detector. TestAsUser does it for
# internal/proc and internal/sandbox; ssh servers and containers need root.
AS_USER := $(CURDIR)/e2e/setup/as-user.sh
ROOT    := $(filter 0,$(shell id -u))

user: hosts
ifdef ROOT
	$(TEST) -run '^TestAsUser$$' ./internal/proc ./internal/sandbox
	$(TEST) -exec $(AS_USER) -skip '^TestTerminal(OverSSH|InAContainer|InApptainer)$$' \
		./agent/store ./codeexec ./delegate/... ./internal/checkpoint ./internal/sandbox/gitguard ./internal/scratch ./internal/search ./internal/workspace \
		./server/... ./tools ./tools/file ./tools/gate ./tools/shell ./tools/web
endif

# Real editors and the official clients against the built binary, as an ordinary user.
# Packing the extension, the Python programs and the public projects need this user's caches
# and programs; the others differ for root.
OWN := TestVSIX|TestOfficialPythonClient|TestLiteLLM|TestAgentSkills|TestHermesAgent(Memory|Skills)|Test(OpenAI|GenAI|Anthropic)SDK|TestPublicProjects

e2e: build hosts vsix
	npm test --prefix vscode --silent
	$(TEST) -count=1 -timeout 40m -tags e2e -skip '^($(OWN))$$' -exec $(AS_USER) ./e2e
	$(TEST) -count=1 -timeout 20m -tags e2e -run '^($(OWN)$(if $(ROOT),|TestSoak|TestKilledServers|TestACPX|TestOfficialACPClient|TestClosedPipe))$$' ./e2e
	$(TEST) -count=1 -tags e2e ./release

# Kakoune, whose LSP client has to be built first: some minutes, once.
kakoune: build hosts
	e2e/setup/kakoune.sh
	go test -count=1 -tags e2e,kakoune -run '^TestKakoune$$' ./e2e

hosts:
	@e2e/setup/hosts.sh

# The VS Code extension with this platform's program in it; GOOS and GOARCH choose
# another, and vsix-all has one for each.
vsix:
	vscode/vsix.sh $(VERSION) $(CURDIR)/dist "$(LDFLAGS)" $(if $(GOOS)$(GOARCH),$(or $(GOOS),$(shell go env GOHOSTOS))/$(or $(GOARCH),$(shell go env GOHOSTARCH)))

vsix-all:
	vscode/vsix.sh $(VERSION) $(CURDIR)/dist "$(LDFLAGS)" linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

bench: build hosts
	@go run ./bench -bin bin/hermes-ls

# What the tests do for a moment, for as long as it takes to find what is rare:
# 10,000 kills of servers that start and end commands, 2,000 kills of processes at
# work in the store, four of them on one store for minutes, 300 kills of the server
# in a turn, 1,000 turns.
soak: build
	go test -count=1 -timeout 30m -v -run '^TestKilledAnywhere$$' -parallel 16 ./internal/proc -kills 10000 -killers 16
	go test -count=1 -timeout 30m -v -run '^(TestKilled|TestProcesses)$$' ./agent/store -kills 2000 -together 3m
	go test -count=1 -timeout 30m -v -tags e2e -run '^(TestKilledServers|TestSoak)$$' ./e2e -kills 300 -turns 1000

# Each fuzz target for FUZZTIME; the seeds run with every test. Inputs are made smaller
# for a moment only: by default Go spends a minute on each.
FUZZTIME := 20s

fuzz:
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep ^Fuzz); do \
		echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$p || exit 1; done; done

# All files of a release, in dist/release. PLATFORMS limits it to some (GOOS/GOARCH,…); then the
# files for registries are left out. docs/release.md says how they are published.
PLATFORMS :=
release:
	rm -rf dist/release
	SOURCE_DATE_EPOCH=$$(git show -s --format=%ct HEAD) vscode/vsix.sh $(VERSION) $(CURDIR)/dist/release/vscode "$(LDFLAGS)" \
		$(subst $(comma), ,$(or $(PLATFORMS),linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64))
	go run ./release -version $(VERSION) -commit "$(COMMIT)" -out dist/release $(if $(PLATFORMS),-platforms $(PLATFORMS))

# Facts about models: windows, prices, levels of effort.
models:
	cd config/catalog/generate && go run . > ../models.new && mv ../models.new ../models.json

# The site of the documentation, in dist/docs, with a search.
docs:
	release/docs.sh

# The licenses of what the programs contain.
notices:
	@mkdir -p dist
	go run ./release/notices > dist/THIRD-PARTY-NOTICES.txt

# Known vulnerabilities in code that we call. It needs the network.
vulnerabilities:
	go run $(GOVULNCHECK) ./...

clean:
	rm -rf bin dist

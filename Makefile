# Two commands for a fresh machine: `make demo` shows the main job, `make test`
# passes the tests. Both do their own set-up.

VERSION := 0.1.0
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.linkedVersion=$(VERSION) -X main.commit=$(COMMIT)
GO      := CGO_ENABLED=0 go
comma   := ,

GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

.PHONY: build demo check test lint e2e kakoune hosts vsix vsix-all bench soak fuzz notices vulnerabilities release docs models clean

build: bin/hermes-ls

bin/hermes-ls: FORCE
	$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/hermes-ls ./cmd/hermes-ls
FORCE:

demo:
	@test -e bin/hermes-ls || echo "Building bin/hermes-ls: the first time takes one to three minutes."
	@$(MAKE) --no-print-directory build
	@bin/hermes-ls demo

# The stages of both are in internal/testrun/stages.go. They run side by side; STAGES chooses some:
#   make test STAGES="race neovim"
STAGES  :=
TESTRUN := @mkdir -p .cache && $(GO) build -trimpath -o .cache/testrun ./internal/testrun && exec .cache/testrun

# Quick, and with Go, git and Python alone.
check:
	$(TESTRUN) check $(STAGES)

# Everything. Root on Debian installs missing programs; otherwise tests that need them are left out and listed.
test:
	$(TESTRUN) test $(STAGES)

lint:
	$(TESTRUN) test lint

e2e:
	$(TESTRUN) test vscode neovim editors clients

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
# work in the store, four of them on one store for minutes, 600 kills of the server
# in a turn, 1,000 turns.
soak: build
	go test -count=1 -timeout 30m -v -run '^TestKilledAnywhere$$' -parallel 16 ./internal/proc -kills 10000 -killers 16
	go test -count=1 -timeout 30m -v -run '^(TestKilled|TestProcesses)$$' ./agent/store -kills 2000 -together 3m
	go test -count=1 -timeout 30m -v -tags e2e -run '^(TestKilledServers|TestCallsAfterAKill|TestSoak)$$' ./e2e -kills 300 -turns 1000

# Each fuzz target for FUZZTIME; the seeds run with every test. Inputs are made smaller
# for a moment only: by default Go spends a minute on each.
FUZZTIME := 20s

fuzz:
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep ^Fuzz); do \
		echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$p || exit 1; done; done

# All files of a release, in dist/release. PLATFORMS limits it to some (GOOS/GOARCH,…); then the
# files for registries are left out. release/README.md says how they are published.
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

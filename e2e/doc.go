// Package e2e contains only tests (build tag e2e, run by `make test`). They drive the built binary
// from real hosts: two Neovims with plain vim.lsp, Emacs with eglot, and the official Agent Client
// Protocol client. The hosts come from setup/hosts.sh; a missing host fails the test, it does not
// skip it.
package e2e

// Package e2e holds no code of its own: its tests (build tag e2e, run by `make test`)
// drive the built binary from real hosts: two Neovims with plain vim.lsp, Emacs with
// eglot, and the official Agent Client Protocol client. The hosts come from
// setup/hosts.sh; a missing one fails the test, it does not skip it.
package e2e

// Package hermes is the root of hermes-ls, a coding agent hosted by editors like a language server.
// The program is in cmd/hermes-ls; ARCHITECTURE.md is the map, and a test here holds the code to
// it.
package hermes

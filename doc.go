// Package hermes is the root of hermes-ls, a coding agent that an editor hosts the
// way it hosts a language server. The program is in cmd/hermes-ls; ARCHITECTURE.md
// is the map, and a test here holds the code to it.
package hermes

// Package servertest runs the real server for tests, over LSP and ACP: an editor that behaves as
// editors do, and scripts of whole sessions.
//
// The frames are real and go over pipes in memory, the model is agent/model/fakemodel, the
// workspace is a directory on the disk, the store is SQLite. Everything works inside
// testing/synctest.
//
//	e := servertest.New(t, servertest.Options{Model: m, Files: map[string]string{"main.go": "package main\n"}})
//	e.Open("main.go")
//	e.Edit("main.go", "main", "other")     // the user types
//	answer := e.Ask("What is this?")       // hermes.prompt, waiting
//	e.Text("main.go")                      // the user's visible text
//
// Scripts are txtar files. [RunScripts] runs them. testdata/README.md describes their format.
package servertest

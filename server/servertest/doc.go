// Package servertest runs the real server, both faces of it, for tests: an editor
// that behaves as editors do, and scripts of whole conversations.
//
// The frames are real and go over pipes in memory, the model is agent/model/fakemodel,
// the workspace is a folder on the disk, the store is SQLite. Everything works inside
// testing/synctest.
//
//	e := servertest.New(t, servertest.Options{Model: m, Files: map[string]string{"main.go": "package main\n"}})
//	e.Open("main.go")
//	e.Edit("main.go", "main", "other")     // the user types
//	answer := e.Ask("What is this?")       // hermes.prompt, waiting
//	e.Text("main.go")                      // what the user sees now
//
// Scripts are txtar files; [RunScripts] runs them, testdata/README.md says how to
// write one.
package servertest

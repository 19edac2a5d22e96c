// Package codeexec is the execute_code tool: a Python script in a child process calls the session's
// tools as functions, and the model gets only the script's output.
//
// A [Runner] runs the scripts of one session and is safe for concurrent use. A script's calls go
// over a Unix socket to the session's dispatch (tools.Env.Dispatch). So the same hooks, approvals,
// path scope and limits apply as to other calls. The child gets an environment with listed names
// only, and starts without code of the workspace. At its timeout, on cancel, and if the server
// dies, it ends with all its descendants. Its calls are canceled, and the runner waits for them.
// Afterwards no process, directory or goroutine is left.
//
//	r := codeexec.New(codeexec.Config{Timeout: 300 * time.Second, MaxCalls: 50, …})
//	defer r.Close()
//	set.Add(r.Tool())
package codeexec

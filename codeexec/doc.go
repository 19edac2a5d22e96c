// Package codeexec is the execute_code tool: a Python script in a child process
// that calls the session's tools as functions, of which only what it prints comes
// back.
//
// A [Runner] belongs to one session. Its script's calls go over a Unix socket to
// the session's own dispatch (tools.Env.Call), so hooks, approvals, scope and caps
// are those of any other call. The child sees an environment made from a list of
// harmless names, starts isolated from what lies in the workspace, and is ended
// with everything below it at its time limit, when the call is cancelled, and when
// the server dies; its calls are cancelled and waited for. Nothing of it is left:
// no process, no folder, no goroutine.
//
//	r := codeexec.New(codeexec.Config{Timeout: 300 * time.Second, MaxCalls: 50, …})
//	defer r.Close()
//	set.Add(r.Tool())
package codeexec

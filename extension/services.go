package extension

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// The interfaces of this file are services: links between features that do not import each other.
// The instance with a service declares it, such as
//
//	var _ extension.PageReader = (*instance)(nil)
//
// and others get it from the [Set] of the session. If a method is renamed, neither side compiles.

// PageReader reads addresses of the web, within the user's limits.
type PageReader interface {
	// Page returns the title of a page and its text as Markdown.
	Page(ctx context.Context, address string) (title, text string, err error)
	// Fetch returns the content of an address.
	Fetch(ctx context.Context, address string) ([]byte, error)
}

// PageReader returns the service of the session. If there is none, it returns false.
func (s *Set) PageReader() (PageReader, bool) { return find[PageReader](s) }

// Page reads a page with the [PageReader] of the session.
func (s *Session) Page(ctx context.Context, address string) (title, text string, err error) {
	pages, ok := s.Extensions().PageReader()
	if !ok {
		return "", "", errors.New("web pages are not available in this session")
	}
	return pages.Page(ctx, address)
}

// Fetch returns the content of an address with the [PageReader] of the session.
func (s *Session) Fetch(ctx context.Context, address string) ([]byte, error) {
	pages, ok := s.Extensions().PageReader()
	if !ok {
		return nil, errors.New("addresses are not read in this session")
	}
	return pages.Fetch(ctx, address)
}

// Shell runs commands.
type Shell interface {
	// ShellName returns the name of the program that runs commands, such as "bash". If it is
	// unknown, ShellName returns "".
	ShellName() string
	// Busy reports whether a command in the background runs.
	Busy() bool
}

// Shell returns the service of the session. If there is none, it returns false.
func (s *Set) Shell() (Shell, bool) { return find[Shell](s) }

// Interpreter knows the Python of the workspace.
type Interpreter interface {
	// Interpreter returns the path of the Python for scripts. If there is none, it returns "".
	Interpreter(ctx context.Context) string
}

// Interpreter returns the service of the session. If there is none, it returns false.
func (s *Set) Interpreter() (Interpreter, bool) { return find[Interpreter](s) }

// Changes records the session's changed files and restores them.
type Changes interface {
	// ChangedFiles returns the paths of all files changed by the session.
	ChangedFiles(ctx context.Context) ([]string, error)
	// ChangedSince returns the paths of the files changed by the session since a time.
	ChangedSince(ctx context.Context, since time.Time) ([]string, error)
	// RestoreSince restores the files from before a prompt. done is a sentence about the result.
	RestoreSince(ctx context.Context, prompt time.Time) (done string, err error)
}

// Changes returns the service of the session. If there is none, it returns false.
func (s *Set) Changes() (Changes, bool) { return find[Changes](s) }

// Edits makes edits of files like the file tools.
type Edits interface {
	// Edit makes all changes of a call or none, with the approvals and the result of the file tools. They
	// also report problems that come later. replaced is the number of replaced places.
	Edit(ctx context.Context, env *tools.Env, call tools.Call, actions []workspace.Action, replaced int) (tools.Result, error)
}

// Edits returns the service of the session. If there is none, it returns false.
func (s *Set) Edits() (Edits, bool) { return find[Edits](s) }

// ServerApprover keeps the user's approvals of MCP servers of the workspace. Each method returns a
// text for the user.
type ServerApprover interface {
	Approve(ctx context.Context, server string) (string, error)
	Disapprove(ctx context.Context, server string) (string, error)
}

// ServerApprover returns the service of the session. If there is none, it returns false.
func (s *Set) ServerApprover() (ServerApprover, bool) { return find[ServerApprover](s) }

// Spawner runs subagents.
type Spawner interface {
	Spawn(ctx context.Context, t Task) (Report, error)
}

// Spawner returns the service of the session. If there is none, it returns false.
func (s *Set) Spawner() (Spawner, bool) { return find[Spawner](s) }

// Find returns the instance of a feature. Only a caller that imports the feature uses it; others
// use a service.
func Find[T Instance](s *Set) (T, bool) { return find[T](s) }

func find[T any](s *Set) (found T, ok bool) {
	for found = range instances[T](s) {
		return found, true
	}
	return found, false
}

// instances yields the instances of type T.
func instances[T any](s *Set) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, o := range s.opened {
			if x, ok := o.instance.(T); ok && !yield(x) {
				return
			}
		}
	}
}

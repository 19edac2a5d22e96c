package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Session is an open session of a host. Each of its parts has one subject; Session is their
// interface for hosts.
type Session struct {
	id     string
	svc    *Service
	host   Host
	place  Place // as it was opened
	opened time.Time

	location   *location      // files, sandbox and machine
	record     *record        // the stored session
	settings   *settings      // configuration and options
	queue      *queue         // turns; its context ends with the session
	notifier   *notifier      // notices for the user
	questions  *questions     // the current question to the user
	extensions *extension.Set // features
}

func (s *Service) newSession(head store.Session, p Place, h Host, draft bool) (*Session, error) {
	x, err := s.prepareSession(head, p, h, h.Documents(head.ID))
	if err != nil {
		return nil, err
	}
	openExtensions(x, draft, func(Feature) bool { return true })
	x.applySettings()
	x.notifier.report(x.settings.config().Problems)
	s.watch()
	return x, nil
}

// prepareSession makes a session without extensions.
func (s *Service) prepareSession(head store.Session, p Place, h Host, documents workspace.Documents) (*Session, error) {
	at, err := openLocation(s, head, documents)
	if err != nil {
		return nil, err
	}
	p.Given = nil // they are not kept
	conf := s.Config(at.ws.Folders())
	x := &Session{
		id: head.ID, svc: s, host: h, place: p, opened: time.Now(), location: at,
		record: newRecord(s, head), notifier: &notifier{svc: s, id: head.ID, host: h},
	}
	x.queue = newQueue(s.ctx, head.ID, x.wake)
	x.questions = &questions{host: h, show: x.notifier.show}
	x.settings = newSettings(s, x.record, conf, x.questions)
	all := func() *store.Store { return s.theStore(s.synchronous()) }
	stored := func() *store.Store {
		if x.record.draft() {
			return nil
		}
		return all()
	}
	x.settings.spending = newLedger(head.ID, stored, all, x.settings.config, x.settings.gate, x.ask, x.notifier.show)
	at.configure(s, conf, x.notifier)
	return x, nil
}

// Warm prepares the first prompt. Hosts call it after reporting the session to the client.
func (x *Session) Warm() {
	x.svc.openAhead(x.settings.config(), x.Cwd())
	if !x.record.draft() {
		x.svc.background(x.wake) // results of an earlier server may wait
	}
	x.extensions.Warm()
}

// ID identifies the session, also in the store.
func (x *Session) ID() string { return x.id }

// Head returns the head of the session, as it is stored.
func (x *Session) Head() store.Session { return x.record.head() }

// Cwd is the session's first folder, as it was given.
func (x *Session) Cwd() string { return x.Head().Cwd }

// Title is the title of the session. Before the first prompt it is empty.
func (x *Session) Title() string { return x.Head().Title }

// SetFolders replaces the list of workspace folders. The working directory is the first.
func (x *Session) SetFolders(folders []string) error {
	if err := x.location.ws.SetFolders(folders); err != nil {
		return badInput("folders", "%v", err)
	}
	x.extensions.FoldersChanged()
	return nil
}

// setFurther replaces the workspace folders after the first.
func (x *Session) setFurther(ctx context.Context, folders []string) error {
	if err := x.SetFolders(append([]string{x.Cwd()}, folders...)); err != nil {
		return err
	}
	return x.record.save(ctx, func(h *store.Session) { h.Folders = folders })
}

// Begin loads the history and makes the session's tools, if it has not done so yet.
func (x *Session) Begin(ctx context.Context) error {
	_, err := x.open(ctx)
	return err
}

// open returns the agent's session. The first time, it makes the system prompt and the tools.
func (x *Session) open(ctx context.Context) (*agent.Session, error) {
	return x.record.open(ctx, func(ctx context.Context, head store.Session, draft bool) (*agent.Session, error) {
		return openAgent(ctx, x, head, draft)
	})
}

// Mode returns the session's mode.
func (x *Session) Mode() string { return x.settings.mode() }

// SetMode chooses a mode for this session, and stores it.
func (x *Session) SetMode(ctx context.Context, id string) error {
	if err := checkMode(id); err != nil {
		return err
	}
	err := x.settings.setMode(ctx, id)
	x.applySettings()
	x.settingsChanged()
	return err
}

// Options returns the session's options with their values.
func (x *Session) Options() []Option { return x.settings.options() }

// SetOption chooses a value, and stores it. It applies from the next model request on.
func (x *Session) SetOption(ctx context.Context, id, value string) error {
	value, err := x.settings.check(id, value)
	if err != nil {
		return err
	}
	if id == optionMode {
		return x.SetMode(ctx, value)
	}
	before := x.settings.first()
	err = x.settings.setModel(ctx, id, value)
	x.settingsChanged()
	if after := x.settings.first(); err == nil && after != before && !x.record.draft() {
		x.Warn(after + " answers from now on. The prompt cache of " + before + " does not apply, so the next request reads the whole history at full price.")
	}
	return err
}

// SettingsViewer is a [Host] with a view of the sessions' options.
type SettingsViewer interface {
	SettingsChanged(x *Session)
}

func (x *Session) settingsChanged() {
	if v, ok := x.host.(SettingsViewer); ok {
		v.SettingsChanged(x)
	}
}

// applySettings applies the configuration, the mode and the secrets of extensions.
func (x *Session) applySettings() { x.settings.apply(x.extensions.Secrets()) }

// Warn shows a text to the user with the next turn.
func (x *Session) Warn(text string) { x.notifier.warn(text) }

// SubagentNotifier is a [Host] that learns of notices waiting while no turn runs, such as the
// results of subagents. If start is true, the host starts a turn with [StartNotices]. Otherwise,
// the next prompt delivers the notices.
type SubagentNotifier interface {
	NoticesWaiting(x *Session, start bool)
}

// wake notifies the host, once, of notices waiting while no turn runs.
func (x *Session) wake() {
	n, ok := x.host.(SubagentNotifier)
	if ok && x.extensions.Waiting() && x.queue.wake() {
		n.NoticesWaiting(x, x.startsTurn())
	}
}

// Replay shows the history to the host's sink.
func (x *Session) Replay(ctx context.Context) error { return x.ReplayTo(ctx, x.notifier.sink(nil)) }

// ReplayTo shows the history to sink; see [Session.StartReplay].
func (x *Session) ReplayTo(ctx context.Context, sink agent.Sink) error {
	t, err := x.StartReplay(sink)
	if err != nil {
		return err
	}
	_, err = t.Run(ctx)
	return err
}

// close cancels all turns, waits for them within ctx, and closes the extensions and the
// workspace.
func (x *Session) close(ctx context.Context) error {
	if err := x.queue.close(ctx); err != nil {
		return fmt.Errorf("closing session %s: %w", x.id, err)
	}
	if x.record.opened() != nil && !x.record.draft() {
		rest, stop := x.extensions.Events().SessionEnd(ctx, eventOf(x))
		defer stop()
		ctx = rest
	}
	return errors.Join(x.extensions.Close(ctx), x.location.close())
}

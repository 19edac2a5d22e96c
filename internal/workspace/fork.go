package workspace

// Fork opens the same folders and documents for somebody else who works in them,
// such as a subagent: it remembers by itself what it has read.
func (w *Workspace) Fork() (*Workspace, error) {
	var names []string
	for _, f := range w.current() {
		names = append(names, f.given)
	}
	forked, err := w.fork(names, w.docs)
	if err == nil {
		forked.Journal = w.Journal
	}
	return forked, err
}

// ForkIn is Fork in another folder, alone and without documents: the editor knows
// nothing of what lies there.
func (w *Workspace) ForkIn(folder string) (*Workspace, error) {
	return w.fork([]string{folder}, nil)
}

func (w *Workspace) fork(folders []string, docs Documents) (*Workspace, error) {
	forked, err := Open(folders, docs)
	if err != nil {
		return nil, err
	}
	forked.Ripgrep = w.Ripgrep
	forked.turnstile = w.turnstile
	return forked, nil
}

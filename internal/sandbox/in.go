package sandbox

// In is a sandbox of its own, as b is now, for commands that work in other folders,
// such as a subagent's in a worktree. The caller closes it.
func (b *Box) In(roots ...string) *Box {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	c := b.cfg
	c.Mode, c.Network, c.Workspace = b.mode, b.network, b.workspaceLocked()
	b.mu.Unlock()
	b.views.mu.Lock()
	c.Read = b.views.read
	b.views.mu.Unlock()
	c.Roots = func() []string { return roots }
	c.Report = nil // b has reported
	return New(c)
}

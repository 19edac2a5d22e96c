//go:build unix && !linux

package supervisor

import "github.com/hermes-ls/hermes-ls/internal/proc/spec"

func work(string) {}

func (s supervisor) hold(spec.Spec) {}

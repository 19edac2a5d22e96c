package mcp

import (
	"slices"
	"sync"
	"time"
)

const (
	mostRemarks  = 5 // in a minute
	mostRequests = 2 // of a login with more rights, in a session
)

// notices counts the notices about a server, so that they stay few. It is safe for concurrent use.
type notices struct {
	mu      sync.Mutex
	recent  []time.Time // of remarks
	login   bool        // a login is required
	rights  int         // a login with more rights is required
	changes int         // of its tools
	lists   int         // omitted tools, and mistakes in its list
	leftOut string      // the omitted tools in the last notice
	faults  []string    // the mistakes in the last notice
}

// admit counts a remark. If there were too many in the last minute, it returns false.
func (s *notices) admit(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.recent) > 0 && now.Sub(s.recent[0]) >= time.Minute {
		s.recent = s.recent[1:]
	}
	if len(s.recent) >= mostRemarks {
		return false
	}
	s.recent = append(s.recent, now)
	return true
}

// setLogin stores whether the user knows that a login is required. It returns the value before.
func (s *notices) setLogin(known bool) (before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.login = s.login, known
	return before
}

// moreRights reports whether the user is to be asked for a login with more rights.
func (s *notices) moreRights() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rights++
	return s.rights <= mostRequests
}

// otherTools reports whether the user is to be told of a change of the tools.
func (s *notices) otherTools() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	return s.changes <= mostChanges
}

// omits reports whether the user is to be told of these omitted tools. An empty text is stored only.
func (s *notices) omits(tools string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tools == s.leftOut || s.lists == mostChanges {
		return false
	}
	s.leftOut = tools
	if tools != "" {
		s.lists++
	}
	return tools != ""
}

// mistakes reports whether the user is to be told of these mistakes.
func (s *notices) mistakes(faults []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(faults) == 0 || slices.Equal(faults, s.faults) || s.lists == mostChanges {
		return false
	}
	s.faults = faults
	s.lists++
	return true
}

package client

import (
	"io"
	"time"
)

// alarm calls a function if the endpoint takes too long to send data. It counts only the time
// of reads from the endpoint, not the caller's time for handling a delta.
type alarm struct {
	timer *time.Timer
	first time.Duration // until the first event
	idle  time.Duration // between events
	left  time.Duration // remaining time of this wait
	since time.Time     // start of this wait
	begun bool          // an event was received
	bound time.Duration // by which comments may extend the first wait
}

// newAlarm returns a disarmed alarm. The alarm calls ring at most once.
func newAlarm(first, idle time.Duration, ring func()) *alarm {
	a := &alarm{first: first, idle: idle, left: first, bound: 5 * first}
	a.timer = time.AfterFunc(time.Hour, ring)
	a.timer.Stop()
	return a
}

// arm starts a wait.
func (a *alarm) arm() {
	a.since = time.Now()
	a.timer.Reset(max(a.left, 1))
}

// disarm ends the wait and subtracts its time from the limit.
func (a *alarm) disarm() {
	a.timer.Stop()
	a.left -= time.Since(a.since)
}

// event records an event of the response. The next wait is limited to a.idle.
func (a *alarm) event() { a.begun, a.left = true, a.idle }

// comment records a comment from the endpoint. Before the first event, it restarts the wait.
// All restarts together add at most a.bound.
func (a *alarm) comment() {
	if !a.begun && a.bound > 0 {
		a.bound -= a.first - a.left
		a.left = a.first
	}
}

// limit sets the limit of the remaining waits to d. Later events do not change it.
func (a *alarm) limit(d time.Duration) { a.begun, a.idle, a.left = true, d, d }

// watched is a reader that arms the alarm during each read.
type watched struct {
	body  io.Reader
	alarm *alarm
}

func (w *watched) Read(p []byte) (int, error) {
	w.alarm.arm()
	defer w.alarm.disarm()
	return w.body.Read(p)
}

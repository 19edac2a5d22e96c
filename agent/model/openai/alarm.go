package openai

import (
	"io"
	"time"
)

// alarm goes off when the endpoint leaves us waiting too long. Only time spent
// waiting for the endpoint counts, not what the caller takes for a delta.
type alarm struct {
	timer *time.Timer
	first time.Duration // until the first event
	idle  time.Duration // between events
	left  time.Duration // of the wait at hand
	since time.Time     // when the present wait began
	begun bool          // the first event was there
	bound time.Duration // what comments may still add to the first wait
}

// newAlarm returns an alarm that is not armed; ring is called at most once.
func newAlarm(first, idle time.Duration, ring func()) *alarm {
	a := &alarm{first: first, idle: idle, left: first, bound: 5 * first}
	a.timer = time.AfterFunc(time.Hour, ring)
	a.timer.Stop()
	return a
}

// arm begins a wait.
func (a *alarm) arm() {
	a.since = time.Now()
	a.timer.Reset(max(a.left, 1))
}

// disarm ends it.
func (a *alarm) disarm() {
	a.timer.Stop()
	a.left -= time.Since(a.since)
}

// event says that an event has come.
func (a *alarm) event() { a.begun, a.left = true, a.idle }

// comment says that the endpoint is alive: that counts until the first event, and
// not for ever.
func (a *alarm) comment() {
	if !a.begun && a.bound > 0 {
		a.bound -= a.first - a.left
		a.left = a.first
	}
}

// limit bounds the waits that are left, whatever comes.
func (a *alarm) limit(d time.Duration) { a.begun, a.idle, a.left = true, d, d }

// watched is a body whose reads the alarm watches.
type watched struct {
	body  io.Reader
	alarm *alarm
}

func (w *watched) Read(p []byte) (int, error) {
	w.alarm.arm()
	defer w.alarm.disarm()
	return w.body.Read(p)
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`

// coldStart measures from exec to the answer of LSP's initialize.
func coldStart(l *lab) ([]row, error) {
	measure := func(bin string, args ...string) (time.Duration, error) {
		return median(21, func() (time.Duration, error) { return answerTime(l, bin, args...) })
	}
	floor, err := measure(l.echo)
	if err != nil {
		return nil, err
	}
	value, err := measure(l.bin, "serve")
	if err != nil {
		return nil, err
	}
	return []row{{what: "cold start to initialize", value: ms(value), unit: "ms", floor: ms(floor), floorName: "echo server", goal: "≤ 10 ms, ≤ 5×"}}, nil
}

func answerTime(l *lab, bin string, args ...string) (time.Duration, error) {
	began := time.Now()
	c, err := start(bin, l.home, l.cwd, args...)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(initialize), initialize); err != nil {
		return 0, err
	}
	if _, err := c.out.ReadByte(); err != nil {
		return 0, fmt.Errorf("%s did not answer initialize: %w", filepath.Base(bin), err)
	}
	took := time.Since(began)
	_, err = c.close()
	return took, err
}

// memory measures the proportional set size after session/new and after a long session.
func memory(l *lab) ([]row, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return nil, err
	}
	time.Sleep(300 * time.Millisecond)
	fresh, err := pss(c.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	for range 300 {
		l.model.queue(reply{calls: []call{{"read_file", `{"path":"a.txt"}`}}}, reply{deltas: []string{strings.Repeat("word ", 400)}})
		if err := c.prompt(strings.Repeat("go on ", 50), nil); err != nil {
			return nil, err
		}
	}
	time.Sleep(300 * time.Millisecond)
	long, err := pss(c.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	idle, err := idleCPU(c.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	_, err = c.close()
	return []row{
		{what: "PSS after session/new", value: fresh, unit: "MB", goal: "≤ 25 MB"},
		{what: "PSS after 300 turns", value: long, unit: "MB", goal: "≤ 60 MB"},
		{what: "idle CPU after work", value: idle, unit: "% of a core", goal: "0"},
	}, err
}

func idleCPU(pid int) (float64, error) {
	before, err := cpu(pid)
	if err != nil {
		return 0, err
	}
	const window = 2 * time.Second
	time.Sleep(window)
	after, err := cpu(pid)
	return 100 * float64(after-before) / float64(window), err
}

// turnOverhead measures the time from prompt to first text without the model's own time.
func turnOverhead(l *lab) ([]row, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return nil, err
	}
	firstBytes := 0
	value, err := median(31, func() (time.Duration, error) {
		took, bytes, err := l.turn(c)
		if firstBytes == 0 {
			firstBytes = bytes
		}
		return took, err
	})
	if err != nil {
		return nil, err
	}
	first, err := median(15, l.firstTurn)
	if err != nil {
		return nil, err
	}
	floor, err := socketEcho()
	if err != nil {
		return nil, err
	}
	_, err = c.close()
	return []row{
		{what: "turn overhead", value: ms(value), unit: "ms", floor: ms(floor), floorName: "socket echo", goal: "≤ 3 ms"},
		{what: "first turn of a new session", value: ms(first), unit: "ms", goal: "≤ 10 ms"},
		{what: "first request with “hi”", value: float64(firstBytes), unit: "bytes", goal: "≤ 24000"},
	}, err
}

// turn returns how long a turn takes until its first text, without the model's time, and how
// many bytes its request has.
func (l *lab) turn(c *client) (took time.Duration, bytes int, err error) {
	before := len(l.model.seen())
	var first time.Time
	began := time.Now()
	err = c.prompt("hi", func(m message) {
		if first.IsZero() && m.Params.Update.Kind == "agent_message_chunk" {
			first = time.Now()
		}
	})
	if err != nil {
		return 0, 0, err
	}
	r := l.model.seen()[before]
	return first.Sub(began) - r.answered.Sub(r.arrived), r.bytes, nil
}

// firstTurn measures the first turn of a new process, begun as soon as a user can begin it.
func (l *lab) firstTurn() (time.Duration, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return 0, err
	}
	time.Sleep(300 * time.Millisecond)
	took, _, err := l.turn(c)
	if err != nil {
		return 0, err
	}
	_, err = c.close()
	return took, err
}

// socketEcho returns the time of a round trip over a Unix socket.
func socketEcho() (time.Duration, error) {
	dir, err := os.MkdirTemp("", "hermes-echo-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buf := make([]byte, 64)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			if _, err := conn.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	conn, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	buf := make([]byte, 64)
	return median(1001, func() (time.Duration, error) {
		began := time.Now()
		if _, err := conn.Write([]byte("ping")); err != nil {
			return 0, err
		}
		_, err := conn.Read(buf)
		return time.Since(began), err
	})
}

// callOverhead measures a turn of 50 file reads, each in its own request.
func callOverhead(l *lab) ([]row, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return nil, err
	}
	const calls = 50
	took, used, err := turnOf(l, c, calls, call{"read_file", `{"path":"a.txt"}`})
	if err != nil {
		return nil, err
	}
	floor, err := socketEcho()
	if err != nil {
		return nil, err
	}
	_, err = c.close()
	return []row{
		{what: "file read in a turn, wall", value: ms(took) / calls, unit: "ms", floor: ms(floor), floorName: "socket echo", goal: ""},
		{what: "file read in a turn, CPU", value: ms(used) / calls, unit: "ms", goal: "≤ 1 ms"},
	}, err
}

// turnOf runs a turn of n requests with a call each, and a last request with text.
func turnOf(l *lab, c *client, n int, one call) (took, used time.Duration, err error) {
	return turnIn(l, c, n, 1, one)
}

// turnIn runs a turn of n calls, in requests with up to together calls, and a last request with
// text. It returns the best of five: a 10 ms clock and a busy machine only add time.
func turnIn(l *lab, c *client, n, together int, one call) (took, used time.Duration, err error) {
	took, used = time.Hour, time.Hour
	for range 5 {
		// Other arguments each time, or the agent would rightly call it a loop.
		var waiting []call
		for i := range n {
			args := strings.Replace(one.args, "{", fmt.Sprintf(`{"limit":%d,`, 100+i), 1)
			switch one.name {
			case "execute_code":
				args = one.args
			case "terminal":
				args = strings.Replace(one.args, "{", fmt.Sprintf(`{"timeout":%d,`, 100+i), 1)
			}
			if waiting = append(waiting, call{one.name, args}); len(waiting) == together || i == n-1 {
				l.model.queue(reply{calls: waiting})
				waiting = nil
			}
		}
		l.model.queue(reply{deltas: []string{"done"}})
		before, err := cpuOfAll(c.cmd.Process.Pid)
		if err != nil {
			return 0, 0, err
		}
		began, failed := time.Now(), 0
		err = c.prompt("go", func(m message) {
			if m.Params.Update.Status == "failed" {
				failed++
			}
		})
		if err != nil {
			return 0, 0, err
		}
		if failed > 0 {
			return 0, 0, fmt.Errorf("%d of %d calls of %s failed", failed, n, one.name)
		}
		took = min(took, time.Since(began))
		after, err := cpuOfAll(c.cmd.Process.Pid)
		if err != nil {
			return 0, 0, err
		}
		used = min(used, after-before)
	}
	return took, used, nil
}

// shellOverhead measures a shell command against starting a shell: the difference between turns
// with many commands and with one, without the cost of the turn and of a script's interpreter.
func shellOverhead(l *lab) ([]row, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return nil, err
	}
	const calls = 50
	took, used, err := each(calls, func(n int) (time.Duration, time.Duration, error) {
		return turnOf(l, c, n, call{"terminal", `{"command":"true"}`})
	})
	if err != nil {
		return nil, err
	}
	replyTook, replyUsed, err := each(calls, func(n int) (time.Duration, time.Duration, error) {
		return turnIn(l, c, n, n, call{"terminal", `{"command":"true"}`})
	})
	if err != nil {
		return nil, err
	}
	scriptTook, scriptUsed, err := each(calls, func(n int) (time.Duration, time.Duration, error) {
		script := fmt.Sprintf("from hermes_tools import terminal\nfor i in range(%d):\n    terminal('true')\n", n)
		encoded, err := json.Marshal(map[string]string{"code": script})
		if err != nil {
			return 0, 0, err
		}
		return turnOf(l, c, 1, call{"execute_code", string(encoded)})
	})
	if err != nil {
		return nil, err
	}
	floor, floorCPU, err := bareShells(calls)
	if err != nil {
		return nil, err
	}
	_, err = c.close()
	return []row{
		{what: "shell call in a script, wall", value: ms(scriptTook), unit: "ms", floor: ms(floor), floorName: "bash -c true", goal: "≤ 6 ms"},
		{what: "shell call in a script, CPU", value: ms(scriptUsed), unit: "ms", floor: ms(floorCPU), floorName: "bash -c true", goal: "≤ 5 ms"},
		{what: "shell call of the model, wall", value: ms(replyTook), unit: "ms", floor: ms(floor), floorName: "bash -c true", goal: "≤ 6 ms"},
		{what: "shell call of the model, CPU", value: ms(replyUsed), unit: "ms", floor: ms(floorCPU), floorName: "bash -c true", goal: "≤ 5 ms"},
		{what: "shell call with its request, wall", value: ms(took), unit: "ms", floor: ms(floor), floorName: "bash -c true", goal: "≤ 6 ms"},
		{what: "shell call with its request, CPU", value: ms(used), unit: "ms", floor: ms(floorCPU), floorName: "bash -c true", goal: "≤ 5 ms"},
	}, err
}

// each returns the cost of each of n more: the cost of a run with n + 1 minus the cost of a run
// with 1, divided by n.
func each(n int, run func(n int) (took, used time.Duration, err error)) (took, used time.Duration, err error) {
	oneTook, oneUsed, err := run(1)
	if err != nil {
		return 0, 0, err
	}
	if took, used, err = run(n + 1); err != nil {
		return 0, 0, err
	}
	return (took - oneTook) / time.Duration(n), (used - oneUsed) / time.Duration(n), nil
}

// bareShells measures the start of an empty shell.
func bareShells(n int) (wall, used time.Duration, err error) {
	wall, err = median(n, func() (time.Duration, error) {
		began := time.Now()
		shell := exec.Command("bash", "--norc", "--noprofile", "-c", "true")
		err := shell.Run()
		if err == nil {
			used += shell.ProcessState.UserTime() + shell.ProcessState.SystemTime()
		}
		return time.Since(began), err
	})
	return wall, used / time.Duration(n), err
}

// deltas measures the server's processor time for a reply of 20,000 pieces.
func deltas(l *lab) ([]row, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return nil, err
	}
	const n = 20_000
	pieces := make([]string, n)
	for i := range pieces {
		pieces[i] = piece(i)
	}
	var times [2]time.Duration
	for i, alone := range []bool{false, true} {
		times[i], err = timeOfReply(l, c, reply{deltas: pieces, alone: alone})
		if err != nil {
			return nil, err
		}
	}
	floor, err := decodeAndEncode(n)
	if err != nil {
		return nil, err
	}
	_, err = c.close()
	return []row{
		{what: "CPU per delta of 20,000", value: us(times[0]) / n, unit: "µs", floor: us(floor) / n, floorName: "decode and encode", goal: "≤ 8 µs"},
		{what: "CPU per delta, each sent alone", value: us(times[1]) / n, unit: "µs", floor: us(floor) / n, floorName: "decode and encode"},
	}, err
}

// timeOfReply returns the least processor time of the server for a reply.
func timeOfReply(l *lab, c *client, r reply) (used time.Duration, err error) {
	used = time.Hour
	for range 3 {
		l.model.queue(r)
		before, err := cpu(c.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		if err := c.promptFor(len(r.deltas) * len(piece(0))); err != nil {
			return 0, err
		}
		after, err := cpu(c.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		used = min(used, after-before)
	}
	return used, nil
}

// piece returns a piece of text of four bytes. A server ends a reply whose pieces repeat themselves.
func piece(i int) string { return fmt.Sprintf("%03x ", uint32(i)*2654435761>>20) }

// decodeAndEncode measures reading and writing n deltas.
func decodeAndEncode(n int) (time.Duration, error) {
	var text strings.Builder
	chunk(&text, map[string]any{"content": "token "}, "")
	line := []byte(strings.TrimPrefix(strings.TrimSpace(text.String()), "data: "))
	began := time.Now()
	for range n {
		var value map[string]any
		if err := json.Unmarshal(line, &value); err != nil {
			return 0, err
		}
		if _, err := json.Marshal(value); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// cancel measures from session/cancel during a command to the end of the turn, and
// until the command's process is gone.
func cancel(l *lab) ([]row, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return nil, err
	}
	var dead []time.Duration
	ended, err := median(7, func() (time.Duration, error) {
		mark := fmt.Sprintf("61.%09d", time.Now().Nanosecond())
		l.model.queue(reply{calls: []call{{"terminal", `{"command":"sleep ` + mark + `"}`}}})
		c.id++
		if err := c.send("session/prompt", c.promptParams("go"), c.id); err != nil {
			return 0, err
		}
		for !alive("sleep\x00" + mark) {
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		if err := c.send("session/cancel", map[string]any{"sessionId": c.session}, 0); err != nil {
			return 0, err
		}
		result, err := c.await(c.id, nil)
		if err != nil {
			return 0, err
		}
		took := time.Since(began)
		if !bytes.Contains(result, []byte("cancelled")) {
			return 0, fmt.Errorf("the turn ended with %s", result)
		}
		for alive("sleep\x00" + mark) {
			time.Sleep(time.Millisecond)
		}
		dead = append(dead, time.Since(began))
		return took, nil
	})
	if err != nil {
		return nil, err
	}
	i := 0
	gone, err := median(len(dead), func() (time.Duration, error) { i++; return dead[i-1], nil })
	if err != nil {
		return nil, err
	}
	_, err = c.close()
	return []row{
		{what: "cancel to turn ended", value: ms(ended), unit: "ms", goal: "≤ 5 ms"},
		{what: "cancel to process gone", value: ms(gone), unit: "ms", goal: "≤ 20 ms"},
	}, err
}

// endOfInput measures from the end of stdin to the end of the server.
func endOfInput(l *lab) ([]row, error) {
	value, err := median(11, func() (time.Duration, error) {
		c, err := open(l.bin, l.home, l.cwd)
		if err != nil {
			return 0, err
		}
		return c.close()
	})
	return []row{{what: "end of stdin to exit", value: ms(value), unit: "ms", goal: "≤ 15 ms"}}, err
}

// growth measures a turn's cost as the session grows.
func growth(l *lab) ([]row, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return nil, err
	}
	var rows []row
	messages, floor := 0, 0.0
	for _, size := range []int{10, 100, 1000} {
		for ; messages < size; messages += 2 {
			if err := c.prompt("go on, please, with the next one", nil); err != nil {
				return nil, err
			}
		}
		value, err := median(21, func() (time.Duration, error) {
			began := time.Now()
			err := c.prompt("hi", nil)
			return time.Since(began), err
		})
		if err != nil {
			return nil, err
		}
		messages += 42
		r := row{what: fmt.Sprintf("turn at %d messages", size), value: ms(value), unit: "ms", floor: floor, floorName: "at 10", goal: ""}
		if floor == 0 {
			floor = ms(value)
		}
		rows = append(rows, r)
	}
	_, err = c.close()
	return rows, err
}

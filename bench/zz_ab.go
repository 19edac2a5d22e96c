package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (l *lab) one(c *client, n int, script bool, from int) (wall, own, all time.Duration, err error) {
	if script {
		code := fmt.Sprintf("from hermes_tools import terminal\nfor i in range(%d):\n    terminal('true')\n", n)
		enc, _ := json.Marshal(map[string]string{"code": code})
		l.model.queue(reply{calls: []call{{"execute_code", string(enc)}}})
	} else {
		for i := range n {
			l.model.queue(reply{calls: []call{{"terminal", fmt.Sprintf(`{"timeout":%d,"command":"true"}`, from+i)}}})
		}
	}
	l.model.queue(reply{deltas: []string{"done"}})
	a0, err := cpuOfAll(c.cmd.Process.Pid)
	if err != nil {
		return
	}
	o0, _ := selfCPU(c.cmd.Process.Pid)
	began := time.Now()
	failed := 0
	err = c.prompt("go", func(m message) {
		if m.Params.Update.Status == "failed" {
			failed++
		}
	})
	if failed > 0 {
		err = fmt.Errorf("%d failed", failed)
	}
	wall = time.Since(began)
	if err != nil {
		return
	}
	a1, err := cpuOfAll(c.cmd.Process.Pid)
	o1, _ := selfCPU(c.cmd.Process.Pid)
	return wall, o1 - o0, a1 - a0, err
}

func selfCPU(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	text := string(data)
	f := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	a, _ := strconv.Atoi(f[11])
	b, _ := strconv.Atoi(f[12])
	return time.Duration(a+b) * 10 * time.Millisecond, nil
}

// ab: AB=old,new ROUNDS=n
func ab(l *lab) ([]row, error) {
	bins := strings.Split(os.Getenv("AB"), ",")
	rounds, _ := strconv.Atoi(os.Getenv("ROUNDS"))
	n, _ := strconv.Atoi(os.Getenv("CALLS"))
	if n == 0 {
		n = 50
	}
	type key struct {
		bin    int
		script bool
	}
	zero := map[int][][3]time.Duration{}
	got := map[key][3][]float64{}
	var floors []float64
	var floorsCPU []float64
	for r := range rounds {
		for i := range bins {
			b := (i + r) % len(bins)
			c, err := open(bins[b], l.home, l.cwd)
			if err != nil {
				return nil, err
			}
			if _, _, _, err := l.one(c, 3, false, 300); err != nil {
				return nil, err
			}
			if _, _, _, err := l.one(c, 3, true, 300); err != nil {
				return nil, err
			}
			for _, script := range []bool{false, true} {
				if o := os.Getenv("ABONLY"); o != "" && (o == "script") != script {
					continue
				}
				m := n
				if script {
					m = n
				}
				w, o, a, err := l.one(c, m, script, 100)
				if err != nil {
					return nil, err
				}
				if script {
					w0, o0, a0, err := l.one(c, 0, true, 100)
					if err != nil {
						return nil, err
					}
					zero[b] = append(zero[b], [3]time.Duration{w0, o0, a0})
				}
				k := key{b, script}
				v := got[k]
				for j, d := range []time.Duration{w, o, a} {
					v[j] = append(v[j], ms(d)/float64(m))
				}
				got[k] = v
			}
			if _, err := c.close(); err != nil {
				return nil, err
			}
			fw, fc, err := bareShells(30)
			if err != nil {
				return nil, err
			}
			floors = append(floors, ms(fw))
			floorsCPU = append(floorsCPU, ms(fc))
		}
	}
	slices.Sort(floors)
	slices.Sort(floorsCPU)
	fmt.Printf("bash: wall min %.2f med %.2f  cpu min %.2f med %.2f\n", floors[0], floors[len(floors)/2], floorsCPU[0], floorsCPU[len(floorsCPU)/2])
	for _, script := range []bool{false, true} {
		for b := range bins {
			v := got[key{b, script}]
			fmt.Printf("%-28s script=%-5v", bins[b], script)
			if len(v[0]) == 0 {
				continue
			}
			for j, name := range []string{"wall", "server", "all"} {
				s := slices.Clone(v[j])
				slices.Sort(s)
				fmt.Printf("  %s min %.2f q1 %.2f med %.2f", name, s[0], s[len(s)/4], s[len(s)/2])
			}
			fmt.Println()
		}
	}
	fmt.Println("script without calls", zero)
	return nil, nil
}

package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"time"
)

// pictures measures a prompt with a screenshot of 3840 × 2160, which is fitted, and the same prompt
// without it. It also measures the memory of the helper process.
func pictures(l *lab) ([]row, error) {
	m := image.NewRGBA(image.Rect(0, 0, 3840, 2160))
	for y := range 2160 {
		for x := range 3840 { // areas, edges and gradients, as in windows
			v := uint8(x/40*y/30 + x*y%7)
			m.SetRGBA(x, y, color.RGBA{v, v / 2, uint8(x), 255})
		}
	}
	f, err := os.Create(filepath.Join(l.cwd, "screen.png"))
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // the folder is removed later
	if err := png.Encode(f, m); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return nil, err
	}
	ask := func(text string) (time.Duration, error) {
		return median(5, func() (time.Duration, error) {
			l.model.queue(reply{deltas: []string{"Done."}})
			began := time.Now()
			err := c.prompt(text, nil)
			return time.Since(began), err
		})
	}
	floor, err := ask("Look at screen.png.")
	if err != nil {
		return nil, err
	}
	with, err := ask("Look at @file:screen.png.")
	if err != nil {
		return nil, err
	}
	if _, err := c.close(); err != nil {
		return nil, err
	}
	// The usage of a process includes the largest memory of its descendants, here the helper's.
	usage := reflect.Indirect(reflect.ValueOf(c.cmd.ProcessState.SysUsage()))
	peak := usage.FieldByName("Maxrss")
	if !peak.IsValid() {
		return nil, fmt.Errorf("this system does not report the memory of a process")
	}
	return []row{
		{what: "prompt with a picture, 3840 × 2160", value: ms(with), unit: "ms", floor: ms(floor), floorName: "without the picture", goal: "≤ 800 ms more"},
		{what: "memory of the helper for pictures", value: float64(peak.Int()) / 1024, unit: "MB", goal: "≤ 150"},
	}, nil
}

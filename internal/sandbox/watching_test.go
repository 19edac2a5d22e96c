package sandbox

import "context"

// watching watches the places of a box for a command that is not canceled.
func watching(b *Box) *Watch {
	w, err := b.Watch(context.Background())
	if err != nil {
		panic(err)
	}
	return w
}

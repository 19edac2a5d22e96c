package sandbox

import "context"

// watching watches the places of a box without a cancelable context.
func watching(b *Box) *Watch {
	w, err := b.Watch(context.Background())
	if err != nil {
		panic(err)
	}
	return w
}

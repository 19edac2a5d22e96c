package sandbox

import (
	"errors"
	"io"
)

var errNoLayers = errors.New("there are no layers on this system")

func holdFolder(string) (io.Closer, error) { return nil, errNoLayers }
func ownFolder(string) (io.Closer, error)  { return nil, errNoLayers }

// Package modes lists the modes of this binary apart from the program itself: a supervisor of
// processes, or a helper that reads a page, source code or a picture.
package modes

import (
	"github.com/hermes-ls/hermes-ls/internal/picture"
	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
	"github.com/hermes-ls/hermes-ls/internal/syntax"
	"github.com/hermes-ls/hermes-ls/internal/webpage"
)

// Enter runs the mode that this process was started for, and then never returns. In any other
// process it returns at once. It must be the first call of main, and of each TestMain whose
// test binary starts such processes.
func Enter() {
	supervisor.Main()
	webpage.ServeHelper()
	syntax.ServeHelper()
	picture.ServeHelper()
}

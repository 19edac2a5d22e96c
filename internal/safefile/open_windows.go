package safefile

import "os"

// Flags open a file for reading.
const Flags = os.O_RDONLY

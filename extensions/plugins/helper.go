package plugins

import _ "embed"

// helper runs a plugin in Python.
//
//go:embed helper.py
var helper string

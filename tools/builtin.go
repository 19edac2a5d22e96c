package tools

// Builtin returns the tools that every session has.
func Builtin() []Tool {
	return []Tool{todoTool()}
}

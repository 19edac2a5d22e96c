// Package supervisor does nothing on Windows: a job object ends the processes.
package supervisor

// Main returns at once: there are no supervisors.
func Main() {}

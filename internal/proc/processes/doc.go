// Package processes lists the processes of the system.
package processes

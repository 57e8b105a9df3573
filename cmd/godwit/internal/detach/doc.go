// Package detach runs the command in the background. Start starts it, and returns when the new process has called
// Ready.
package detach

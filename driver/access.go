package driver

import "time"

// Access is what the credentials of a backend may do, as far as calls that read show it.
type Access struct {
	// Identity is who calls, as the service says it, such as an ARN; "": the service does not say, or Err is why.
	Identity string
	// Source is where the credentials are from, such as the name of a file; "": unknown.
	Source string
	// Expires is when the credentials do; zero: never, or it is unknown.
	Expires time.Time
	// Err is why the service does not accept the credentials, or why there are none. The calls were not tried then.
	Err error
	// Ahead is how far the clock of this machine is ahead of the service's; negative: it is behind.
	Ahead Reading[time.Duration]
	// Calls are those that were tried.
	Calls []AccessCall
}

// AccessCall is a call that reads, and was tried.
type AccessCall struct {
	Name  string // as permissions name it
	Needs string // what needs it
	Err   error  // of class [Denied] if it is not allowed; nil: it is
}

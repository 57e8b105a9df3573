// Package lambdaruntime is the Runtime API of AWS Lambda, for tests: the HTTP server from which a function gets events,
// and to which it answers. A [Function] is a process that talks to it.
package lambdaruntime

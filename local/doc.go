// Package local is Godwit with nothing installed: it starts package localaws in this process and opens the backend
// snssqs on it, so that what runs on AWS runs on a laptop and in a test. Its noun: a [Backend], which is the one of
// snssqs together with its server.
package local

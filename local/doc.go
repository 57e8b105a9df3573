// Package local is Godwit without any installation. It starts package localaws in this process and opens the backend
// snssqs on it, so that a program for AWS runs on a laptop and in a test. Its noun: a [Backend] is a snssqs.Backend
// together with its server.
package local

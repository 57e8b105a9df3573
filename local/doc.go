// Package local is Godwit without any installation. It starts package localaws in this process and opens the backend
// snssqs on it, so that a program for AWS runs on a laptop and in a test:
//
//	backend, err := local.Open(ctx, nil) // on AWS: snssqs.Open(ctx, nil)
//
// Its noun: a [Backend] is a snssqs.Backend together with its server. The server keeps everything in memory, so Close
// drops all messages, unless Options.Server has a Store (package localaws/disk). Programs in other processes need a
// server with an address: run the command "godwit local".
package local

// Package worker has handlers for messages that run outside of this process, in any language.
//
// Its nouns: an [Exec] starts a process for each message. A [Pool] keeps processes that handle one message after
// another and speak the line protocol. A [Post] sends each message to an address. A [Command] is what a process runs.
// The method Handle of the first three is a godwit.Handler, which decides about a message as docs/run.md says.
//
// In a Pool, a member is one worker, and its link has the messages of its current process. The turns say which member
// gets a message, and the window says how many a member may have.
package worker

// Package mcpserver lets a language model look at channels, and, if it is allowed to, requeue dead letters.
//
// Its nouns: a [Server] serves the Model Context Protocol with at most twelve tools over package ops. A plan is a
// requeue that was counted; its token starts it once. The text of a message is marked as untrusted, and hidden unless
// [Options] allow it.
package mcpserver

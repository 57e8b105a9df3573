// Package processes asks the processes of an application what their consumers hold.
//
// Its nouns: the [Processes] serve [ops.Workers] at addresses, and answer with [Reports].
package processes

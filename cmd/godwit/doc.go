// Command godwit runs parts of Godwit without a program of your own: an AWS or a Kafka on this machine, a
// demonstration, and what an operator does with channels.
//
// Its nouns: a subcommand is one file, which reads flags → options → run(ctx); all options are checked before anything
// starts. Results go to standard output, other messages to standard error. Exit status: 0 success, 1 failure, 2 wrong
// usage, 3 nothing was found, 4 something is wrong (doctor), 5 a part was refused or not seen, 130 ended by a second
// interrupt.
package main

// Command godwit is what Godwit does without a program of your own: an AWS on this machine, a demonstration, and later what
// an operator needs.
//
// Its nouns: a subcommand is one file, and reads flags → options → run(ctx); options are checked as a whole before anything
// starts. Results go to standard output, everything said on the way to standard error. Exit status: 0 done, 1 failed, 2 called
// wrongly, 130 ended by a second interrupt.
package main

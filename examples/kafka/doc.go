// Command kafka handles a thousand payments of a hundred accounts on one partition: in order for each account, with a
// hundred handlers at once. It needs no installation: the backend is a Kafka inside the program.
package main

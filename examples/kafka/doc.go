// Command kafka handles a thousand payments of a hundred accounts on one partition: in order for each account, and a
// hundred at once. It needs nothing installed: the backend is a Kafka inside the program.
package main

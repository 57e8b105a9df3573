// Worker consumes a channel of an embedded server until it is stopped, and writes a line when a handler starts and when
// it ends. Package processes starts and kills it.
package main

// Command locale passes the sender's locale to the handler, by one middleware on each side. Other code does not know of
// it.
package main

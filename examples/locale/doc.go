// Command locale carries the sender's locale into the handler: a middleware on each side, and nobody else knows of it.
package main

// Package bench measures the cost of a message in Godwit.
//
// A journey is everything that happens to a message: Send, receive, the handler, and the delete. The embedded server
// runs in the same process, so that the figures show the cost of the library and the SDK, without a network.
//
// The folder bench is a module of its own, so that the libraries that Godwit is compared with are not dependencies of
// Godwit.
package bench

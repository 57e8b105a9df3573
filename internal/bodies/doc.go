// Package bodies reads the bodies of large messages, which are in a store, apart from their messages.
//
// A [Body] is one of them. A [Store] reads the bodies of one consumer: a [Reader] ends a read that makes no progress,
// and the Store's [Room] bounds the bytes of all bodies that handlers have at once. An [Error] is a read that has
// failed, and says when it may be tried again. A [Group] makes several calls of a store, a few at the same time.
//
// The package knows a body's [driver.Opener] and nothing of consumers, handlers or deliveries.
package bodies

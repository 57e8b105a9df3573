//go:build synctests

package godwittest

// clientIsVirtual says that the client of Kafka was built for bubbles: without the tag it holds a mutex across I/O.
const clientIsVirtual = true

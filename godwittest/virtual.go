//go:build synctests

package godwittest

// clientIsVirtual reports that the client of Kafka was built for bubbles: without the tag it holds a mutex across I/O.
const clientIsVirtual = true

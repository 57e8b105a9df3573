//go:build !synctests

package godwittest

// clientIsVirtual reports whether the client of Kafka was built for bubbles.
const clientIsVirtual = false

//go:build !synctests

package godwittest

// clientIsVirtual says whether the client of Kafka was built for bubbles.
const clientIsVirtual = false

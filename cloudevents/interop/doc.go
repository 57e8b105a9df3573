// Package interop compares package cloudevents with the SDK of CloudEvents, in a module of its own, so that programs
// that use Godwit do not depend on the SDK. Its tests send events by one and receive them by the other: on Kafka in
// both modes, with the SDK's own binding, and as JSON.
package interop

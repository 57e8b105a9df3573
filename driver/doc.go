// Package driver is the seam between Godwit's core and the backends that carry messages.
//
// Its nouns: a [Backend] opens senders and receivers of a [Channel]. A [Sender] takes prepared messages in batches. A
// [Receiver] returns one [Delivery] per message; each comes from a [Source] and is held under a lease. A [Settlement]
// says what becomes of a delivery. A [Provisioner] creates what a [ChannelSpec] asks for, and finds dead letters; an
// [Extender] renews leases, an [AttemptLog] stores the number of attempts, a [Finisher] records finished deliveries,
// and a [Log] says what holds it up. A [Transformer] sends messages and finishes deliveries in one transaction. A
// [Store] keeps bodies that are too large for their messages, and an [Opener] reads one; a [Copier] copies objects of a
// store, and a [Lister] lists them. A [Raw] message is as the service carries it; a [Forwarder] sends it on.
//
// What only operators call is a function of the [Operations] that an [Operator] returns: list the channels and what has
// happened in them, count messages (a [Depth]), compare them with specifications (a [Difference]), look at messages,
// send dead letters back, delete messages or resources, pause, and rewind. A [Notice] is what an operator is told.
//
// Every method takes and returns batches. The backend (below the seam) owns wire formats, names, filters, provisioning,
// offsets and publishing to dead letters. The core (above the seam) owns the joining of senders into batches, places,
// lanes, workers, policy, leases and states. This package holds no logic and imports only the standard library.
//
// Import this package to write a backend; an application does not need it. Package drivertest is the specification as a
// test, and package memdriver is the smallest backend that passes it.
//
// A method must not retain its arguments after it has returned, except for the values that a [Handle] refers to.
package driver

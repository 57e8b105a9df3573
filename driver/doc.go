// Package driver is the seam between Godwit's core and the backends that carry messages.
//
// Its nouns: a [Backend] opens senders and receivers of a [Channel]. A [Sender] takes prepared messages in batches. A
// [Receiver] returns one [Delivery] per message; each comes from a [Source] and is held under a lease. A [Settlement]
// says what becomes of a delivery. A [Provisioner] creates what a [ChannelSpec] asks for, a [Finder] finds dead
// letters, an [Inspector] reports the [Depth] of a channel, a [Cataloger] lists all channels, an [Extender] renews
// leases, an [AttemptLog] stores the number of attempts, a [Finisher] records finished deliveries, and a [Staller] says
// what holds it up. A [Transformer] sends messages and finishes deliveries in one transaction, a [Rewinder] moves the
// consumers of a log to another position, and a [Pauser] makes the service refuse receives. A [Purger] deletes the
// messages of a channel, and a [Remover] its resources, which a [Snapshotter] makes again. A [Meter] reports their
// [Activity]. A [Store] keeps bodies that are too large for their messages, and an [Opener] reads one. A [Copier]
// copies objects of a store, a [Lister] lists them, and an [OrphanFinder] tells to which of them no message points. A
// [Raw] message is as the service carries it: a [RawReader] returns it, a [Forwarder] sends it on, a [Returner] sends
// dead letters back to where they died, a [Mover] lets the service do that, and a [Peeker] looks without receiving. A
// [Notice] is what an operator is told.
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

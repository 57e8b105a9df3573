// Package driver is the seam between Godwit's core and what carries the messages.
//
// Its nouns: a [Backend] opens both ends of a [Channel]; a [Sender] takes prepared messages in batches; a [Receiver]
// returns a [Delivery] per message, each from a [Source] and under a lease; a [Settlement] says what becomes of it. A
// [Provisioner] makes what a [ChannelSpec] wishes, a [Finder] finds dead letters, an [Inspector] tells the [Depth], an
// [Extender] renews leases, an [AttemptLog] carries attempts along, a [Finisher] notes what is done.
//
// Everything is batch in, batch out. Below the seam lie wire formats, names, filters, provisioning, offsets and
// publishing to dead letters; above it lie joining of senders, places, lanes, workers, policy, leases and states.
// The package holds no logic and imports the standard library only. Applications import it to write a backend, and
// never otherwise. Package drivertest is the specification in executable form, package memdriver the smallest backend
// that keeps it.
//
// Nothing passed into a method may be retained after it returned, except what a [Handle] refers to.
package driver

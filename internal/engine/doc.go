// Package engine is the machinery of a consumer: from a receiver of the seam to a handler, and back to the service.
//
// Its nouns: a [Fleet] is one pool of workers with the lock and the bus that its sessions share. A [Session] is one run
// of one consumer. An [Item] is a delivery in the engine's hands: it is in one state of the lifecycle and holds what
// the ledger says that this state holds. The flow moves items from state to state. The keeper renews leases and fires
// what falls due, the settler tells the service verdicts in batches, pollers receive, workers handle.
//
//	poller → accept → lane → bus → worker → handler → flow → settler → gone
//
// Read lifecycle.go first (the states, the events, and what each state holds), then flow.go (every way on from a
// state), then session.go. One lock guards all items of a fleet and everything they hold: see decision 0032.
//
// The package knows the seam, its own [Config] and an [Observer]. It knows no options, hooks or types of users.
package engine

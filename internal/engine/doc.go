// Package engine runs a consumer: it receives deliveries from a driver, calls handlers, and settles.
//
// A [Fleet] is a pool of workers, with the lock and the bus that its sessions share. A [Session] is one run of one
// consumer. An [Item] is a delivery in the engine. It has one state of the lifecycle, and the ledger takes and returns
// what each state holds. The flow moves items from state to state. The keeper renews leases and handles everything with
// a time, the settler reports verdicts to the service in batches, pollers receive, and workers call handlers.
//
//	poller → accept → lane → bus → worker → handler → flow → settler → gone
//
// Read lifecycle.go first (states, events, and what each state holds), then flow.go (the steps from each state), then
// session.go. One lock guards all items of a fleet and everything that they hold: see decision 0032.
//
// The package knows the driver, its own [Config] and an [Observer]. It does not know options, hooks or types of the
// application.
package engine

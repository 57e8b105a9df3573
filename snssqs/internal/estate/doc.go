// Package estate is the queues and topics of a namespace. Its nouns are the names, which say where channels lie; queues
// and topics with their attributes, tags, policies and subscriptions; the listing of their names; the surveyor, which
// reads what exists of a channel and keeps answers for a minute; the provisioner, which creates them and remembers the
// specifications of this process; the exchange, of which a producer waits for the known queues; and the planner, which
// compares what exists with specifications and changes nothing.
package estate

// Package walk goes through the messages of a channel. Its nouns: a [Walk] receives every message once, by a [Plan]; a
// [Held] keeps the leases of the messages that were received, until they are finished or released; [IDs] are the
// messages that were seen.
package walk

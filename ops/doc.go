// Package ops is what an operator does with channels: look at them, and act on what waits in them. The command `godwit`
// is made of it.
//
// Its nouns: a [Listed] is a channel of a backend, with what waits in it. A [RewindResult] says which messages of a log
// are handled again. A [PauseResult] says whether a channel was paused or resumed, a [PurgeResult] which messages are
// deleted, and a [RemoveResult] which resources. A [Sampler] looks at all channels at intervals while somebody watches;
// each [View] has a [Sample] of every channel, and its [Pace] says what that costs.
//
// No function of this package creates or changes a channel, except those that say so. Whether a channel exists, and
// whether it is ordered, is looked up. All of them need a backend with optional abilities of package driver; without
// them they return an error that names the ability.
package ops

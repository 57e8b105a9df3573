// Package ops is what an operator does with channels: look at them, and act on what waits in them. The command `godwit`
// is made of it.
//
// Its nouns: a [Listed] is a channel of a backend, with what waits in it. An [Entry] is a message that an operator
// looks at, with its raw form; a [Record] is the same as a line of a file. A [Selection] selects messages. A [Journal]
// says which messages a requeue that was killed may have doubled. A [RewindResult] says which messages of a log are
// handled again. A [PauseResult] says whether a channel was paused or resumed, a [PurgeResult] and a [DiscardResult]
// which messages are deleted, and a [RemoveResult] which resources. A [driver.Orphan] is a body in a store that no
// message points to. A [Sampler] looks at all channels at intervals while somebody watches; each [View] has a [Sample]
// of every channel, and its [Pace] says what that costs. A [Health] watches the consumers of a process; [Workers] shows
// what they hold. [Alerts] watches all channels: a [Look] finds what is not as it should be, a [Route] has a [Notifier]
// that is told, and a [State] keeps who was told already. A [SweepReport] has a [SweepFinding] for each channel that is
// not used as it should be, and an [UndoResult] says what was made again.
//
// [Peek], [Export], [Import] and [Requeue] work on raw messages, which nothing has decoded. A requeue is a walk: it
// receives every message of a channel once, sends the selected ones, and holds those that stay until the end.
//
// No function of this package creates or changes a channel, except those that say so. Whether a channel exists, and
// whether it is ordered, is looked up. All of them need a backend with optional abilities of package driver; without
// them they return an error that names the ability.
package ops

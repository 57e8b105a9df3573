// Package batch joins entries that come one by one into batches as large as a service takes.
//
// Its nouns: a [Batcher] has a queue of entries, batches under way, and, where order is kept, lines of entries that
// wait for one of their key; carriers are the goroutines that make the calls. A batch goes when it is full; when none is
// under way and as many entries are here as can be expected (those that were queued when the last batch was answered, and
// its callers in a loop, coming back), or a moment has passed since; or when its oldest entry has waited long enough.
//
// An adaptive Batcher also has a tempo: it has learned how long a call takes and how entries come, and waits only where
// company is likely, for a part of a call's time. So a lone entry is never delayed, and a crowd fills its batches.
package batch

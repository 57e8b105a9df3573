// Package batch joins entries that come one by one into batches as large as a service accepts.
//
// A [Batcher] has a queue of entries and batches in flight. If order is kept, it also has lines: the entries that wait
// for another entry of their key. Carriers are the goroutines that make the calls.
//
// A batch is sent in one of these cases:
//   - It is full.
//   - No batch is in flight, and either as many entries are queued as are expected (those that were queued when the
//     last batch was answered, and one more from each caller that was answered), or Linger is over.
//   - Its oldest entry has waited for Longest.
//
// An adaptive Batcher also has a tempo. It measures how long a call takes and how often entries come. It waits only if
// more entries are likely, and only for a part of a call's duration. So a single entry is never delayed, and many
// concurrent callers fill the batches.
package batch

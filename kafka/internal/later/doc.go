// Package later is how messages wait for their time in a topic beside their channel (orders.later). Its nouns: an
// [Index] has the times of the messages of one partition, whose bodies stay in the log; the [Waker] owns partitions as
// a member of a group, and sends on what is due; and the [Canceller] cancels. The message and the tombstone of the
// record that waited are one transaction, which the group's generation fences: an owner that has lost its partition
// sends nothing. A claim of a waker or a cancel, whichever is first in the log, decides about a message that can be
// cancelled.
package later

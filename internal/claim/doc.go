// Package claim is the format in which a message points to its body in a store, as Amazon's extended clients for SQS
// and SNS write it.
//
// A [Pointer] says where a body is, and is the text that the service carries instead of the body. A [Format] is one of
// the spellings of a pointer and of the message attribute beside it. A body is read by [Open], which compares it with
// what its pointer announced.
//
// The attribute alone decides whether a text is a pointer: a body that looks like one, without the attribute, is a
// body. A pointer comes from whoever may send to the queue, so errors do not repeat its content.
package claim

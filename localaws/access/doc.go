// Package access decides what the policies of queues and topics allow other services.
//
// Its nouns: a policy has statements. A [Request] is what one service wants to do with a resource of another, on behalf
// of a source. [Words] are one string or several, as policies have them.
package access

// Package access decides what the policies of queues and topics allow other services, and what they deny to users.
//
// Its nouns: a policy has statements. A [Request] is what a user, or another service on behalf of a source, wants to do
// with a resource. [Words] are one string or several, as policies have them. A [Leniency] permits what AWS would
// refuse.
package access

// Package native lists the attributes of queues and topics that Godwit has no setting of its own for. Its noun is an
// [Attribute]. A declaration sets them by the service's names; the list finds mistakes before a service is called.
package native

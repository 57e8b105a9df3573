// Package onaws takes the options of a backend on SNS and SQS from declared channels.
//
// Its noun: [Options] are those of the backend, with the namespace of a [topology.Spec] and the resources that it maps.
package onaws
